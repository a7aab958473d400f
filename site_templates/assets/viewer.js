// Hands a trace to the viewer that the site names, when its button is pressed: opens the viewer, waits until it answers
// PING with PONG, and posts the file to it (https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui).
(() => {
  "use strict"
  const EVERY_MS = 100
  const PATIENCE_MS = 60_000

  // Resolves once the window answers; messages to a page that still loads are lost, so PING is sent again and again.
  const ready = (opened, origin) =>
    new Promise((resolve, reject) => {
      const end = Date.now() + PATIENCE_MS
      const stop = (settle, value) => {
        clearInterval(timer)
        removeEventListener("message", heard)
        settle(value)
      }
      const heard = (event) => {
        if (event.source === opened && event.origin === origin && event.data === "PONG") stop(resolve)
      }
      const timer = setInterval(() => {
        if (opened.closed) stop(reject, new Error("the viewer was closed"))
        else if (Date.now() > end) stop(reject, new Error("the viewer does not answer"))
        else opened.postMessage("PING", origin)
      }, EVERY_MS)
      addEventListener("message", heard)
    })

  const bytes = async (address) => {
    const answer = await fetch(address)
    if (!answer.ok) throw new Error(`the trace cannot be fetched (${answer.status})`)
    return answer.arrayBuffer()
  }

  const hand = async (button, say) => {
    const { viewer, trace, title } = button.dataset
    if (location.protocol === "file:") throw new Error("a page opened from disk cannot pass its files on")
    const opened = open(viewer)
    if (!opened) throw new Error("the browser did not open a new window")
    say("Waiting for the viewer…")
    const origin = new URL(viewer).origin
    const [buffer] = await Promise.all([bytes(trace), ready(opened, origin)])
    const fileName = decodeURIComponent(trace.replace(/^.*\//, ""))
    opened.postMessage({ perfetto: { buffer, title, fileName } }, origin, [buffer])
    say("Handed over.")
  }

  for (const place of document.querySelectorAll(".sp-viewer")) {
    const [button, status] = [place.querySelector("button"), place.querySelector("[role=status]")]
    const say = (text) => status.replaceChildren(text)
    button.addEventListener("click", async () => {
      button.disabled = true
      try {
        await hand(button, say)
      } catch (error) {
        const link = document.createElement("a")
        Object.assign(link, { href: button.dataset.trace, download: "", textContent: "Download it" })
        status.replaceChildren(`Not opened: ${error.message}. `, link, " and open it in the viewer.")
      }
      button.disabled = false
    })
    place.hidden = false
  }
})()
