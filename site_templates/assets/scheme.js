// Light or dark for a run page: what the reader chose on the site's other pages, else what the system asks for.
(() => {
  "use strict"
  const system = matchMedia("(prefers-color-scheme: dark)")
  const chosen = () => {
    try {
      const key = Object.keys(localStorage).find((name) => name.endsWith(".__palette"))
      return key ? JSON.parse(localStorage.getItem(key)).color.scheme : null
    } catch {
      return null
    }
  }
  const apply = () => {
    document.documentElement.dataset.mdColorScheme = chosen() || (system.matches ? "slate" : "default")
  }
  apply()
  system.addEventListener("change", apply)
})()
