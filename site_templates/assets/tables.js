// Sorts and filters long tables in the browser; without JavaScript the whole table stands as it is.
(() => {
  "use strict"
  const cell = (row, index) => row.cells[index].textContent.trim()
  // A cell with a value holds it in its base unit (data-sort): `61.2 ms` and `3.40 s` are no texts to compare.
  const value = (row, index) => parseFloat(row.cells[index].dataset.sort ?? "NaN")
  const compare = (a, b, index, sign) => {
    const [left, right] = [value(a, index), value(b, index)]
    if (Number.isNaN(left) && Number.isNaN(right)) {
      return sign * cell(a, index).localeCompare(cell(b, index), "en", { numeric: true })
    }
    // What has no value stays at the end, whichever way the values are sorted.
    return Number.isNaN(left) ? 1 : Number.isNaN(right) ? -1 : sign * (left - right)
  }

  for (const table of document.querySelectorAll("table.sp-sortable")) {
    const heads = [...table.tHead.rows[0].cells]
    heads.forEach((head, index) => {
      const button = document.createElement("button")
      button.className = "sp-sort"
      button.type = "button"
      button.append(...head.childNodes)
      head.append(button)
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending"
        heads.forEach((other) => other.removeAttribute("aria-sort"))
        head.setAttribute("aria-sort", direction)
        const sign = direction === "ascending" ? 1 : -1
        const rows = [...table.tBodies[0].rows]
        rows.sort((a, b) => compare(a, b, index, sign))
        table.tBodies[0].append(...rows)
      })
    })
  }

  for (const form of document.querySelectorAll("form[data-sp-filter]")) {
    const rows = [...document.getElementById(form.dataset.spFilter).tBodies[0].rows]
    const apply = () => {
      const wanted = Object.fromEntries(new FormData(form))
      const text = wanted.text.trim().toLowerCase()
      delete wanted.text
      let shown = 0
      for (const row of rows) {
        const fits = Object.entries(wanted).every(([key, value]) => !value || row.dataset[key] === value)
        row.hidden = !(fits && row.textContent.toLowerCase().includes(text))
        shown += row.hidden ? 0 : 1
      }
      form.querySelector("output").textContent = `${shown} of ${rows.length} shown`
    }
    form.hidden = false
    form.addEventListener("input", apply)
    form.addEventListener("submit", (event) => event.preventDefault())
    apply()
  }
})()
