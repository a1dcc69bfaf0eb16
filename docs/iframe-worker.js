// Browsers start no workers for pages that are opened from a folder, and the site's search runs in one. There, a hidden
// frame does the worker's work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inner = this.frame.contentWindow
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = new Promise(resolve => {
        const element = inner.document.createElement("script")
        element.src = script
        element.onload = resolve
        inner.document.body.append(element)
      })
    }

    postMessage(data) {
      const inner = this.frame.contentWindow
      this.ready.then(() => inner.dispatchEvent(new inner.MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
