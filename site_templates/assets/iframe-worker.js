// Lets the theme's search run from disk. A page opened as file:// may not start a Worker, so there this stands in for it:
// the worker's script runs in a hidden frame, and messages pass by direct call.
(() => {
  "use strict"
  if (location.protocol !== "file:") return

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      this.frame.addEventListener("load", () => this.start(new URL(url, document.baseURI).href), { once: true })
      this.frame.srcdoc = "<!doctype html><title>search</title>"
      document.documentElement.append(this.frame)
    }

    start(url) {
      const inner = this.frame.contentWindow
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      inner.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve())
      this.load(url).then(
        () => {
          this.ready = true
          this.waiting.splice(0).forEach((data) => this.postMessage(data))
        },
        () => this.dispatchEvent(new Event("error")),
      )
    }

    load(url) {
      const page = this.frame.contentDocument
      return new Promise((resolve, reject) => {
        const script = page.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = reject
        page.head.append(script)
      })
    }

    postMessage(data) {
      if (!this.ready) {
        this.waiting.push(data)
        return
      }
      const inner = this.frame.contentWindow
      inner.dispatchEvent(new inner.MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }

  window.IFrameWorker = IFrameWorker
  window.Worker = IFrameWorker
})()
