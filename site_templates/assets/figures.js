// Draws the page's figures: each is JSON in a script element beside its static SVG, which stays for print.
// Plotly is one shared file, fetched only by a page that has a figure, and only when it comes near the screen.
(() => {
  "use strict"
  const base = document.currentScript.src.replace(/[^/]*$/, "")
  const figures = [...document.querySelectorAll(".sp-figure")]
  if (!figures.length) return

  let library
  const plotly = () => {
    library ??= new Promise((resolve, reject) => {
      const script = document.createElement("script")
      script.src = `${base}plotly.min.js`
      script.onload = () => resolve(window.Plotly)
      script.onerror = reject
      document.head.append(script)
    })
    return library
  }

  // A colour in the JSON is the name of a CSS variable, so that figures follow the scheme.
  const coloured = (value, style) => {
    if (typeof value === "string") {
      const name = /^var\((--[\w-]+)\)$/.exec(value)
      return name ? style.getPropertyValue(name[1]).trim() : value
    }
    if (Array.isArray(value)) return value.map((item) => coloured(item, style))
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item, style)]))
    }
    return value
  }

  const draw = async (figure) => {
    const Plotly = await plotly()
    const plot = figure.querySelector(".sp-plot")
    const raw = JSON.parse(figure.querySelector(".sp-data").textContent)
    const style = getComputedStyle(figure)
    const { data, layout } = coloured(raw, style)
    layout.font.family = style.fontFamily
    const first = plot.hidden
    plot.hidden = false
    figure.classList.add("sp-live")
    await Plotly.react(plot, data, layout, { responsive: true, displayModeBar: false })
    if (first) {
      plot.on("plotly_click", ({ points }) => {
        const address = points[0].customdata
        if (typeof address === "string") location.href = new URL(address, location.href).href
      })
    }
    figure.dataset.drawn = "yes"
  }

  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue
        seen.unobserve(target)
        draw(target).catch(() => target.classList.remove("sp-live"))
      }
    },
    { rootMargin: "400px" },
  )
  figures.forEach((figure) => seen.observe(figure))

  const again = () => figures.filter((figure) => figure.dataset.drawn).forEach(draw)
  for (const element of [document.body, document.documentElement]) {
    new MutationObserver(again).observe(element, { attributes: true, attributeFilter: ["data-md-color-scheme"] })
  }
})()
