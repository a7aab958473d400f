"""The site as a reader meets it: opened from disk, on a phone and on a desk, with and without JavaScript, on paper."""

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium

pytestmark = pytest.mark.browser

COMPARISON = "comparisons/tiny/slow-vs-fast.html"
SCROLL = (
    "new Promise(done => { const step = () => { scrollBy(0, 500);"
    " if (scrollY + innerHeight >= document.documentElement.scrollHeight - 1) done(true); else setTimeout(step, 30) };"
    " step() })"
)
DRAWN = "[...document.querySelectorAll('.sp-figure')].every(figure => figure.dataset.drawn)"


def pages(site: Path) -> list[str]:
    return ["index.html", COMPARISON, "evidence.html", "glossary.html", *run_pages(site)]


def run_pages(site: Path) -> list[str]:
    every = [path.relative_to(site).as_posix() for path in sorted(site.glob("runs/*/index.html"))]
    failed = [name for name in every if "out of memory" in (site / name).read_text()]
    profiled = [name for name in every if "profiled launch" in (site / name).read_text()]
    return [failed[0], profiled[0]]


def problems(browser: Chromium) -> list[str]:
    """Console errors, exceptions, failed requests, and requests that leave the disk."""
    asked = [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")]
    return [
        *(event["entry"]["text"] for event in browser.of("Log.entryAdded")),
        *(str(event["exceptionDetails"]) for event in browser.of("Runtime.exceptionThrown")),
        *(str(event["args"]) for event in browser.of("Runtime.consoleAPICalled") if event["type"] == "error"),
        *(event["errorText"] for event in browser.of("Network.loadingFailed")),
        *(address for address in asked if not address.startswith(("file:", "data:", "blob:", "about:"))),
    ]


@pytest.mark.parametrize("width", [390, 1440])
def test_pages_load_cleanly_and_fit_the_screen(browser: Chromium, site: Path, width: int) -> None:
    for name in pages(site):
        browser.open((site / name).as_uri(), width)
        browser.evaluate(SCROLL)
        browser.wait_for(DRAWN)
        assert problems(browser) == [], name
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize("width", [700, 750, 800])
def test_pages_fit_on_paper(browser: Chromium, site: Path, width: int) -> None:
    for name in [*pages(site), *(path.relative_to(site).as_posix() for path in site.glob("runs/*/index.html"))]:
        browser.open((site / name).as_uri(), width)
        browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        browser.print_media()
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, name


def test_the_figure_has_a_dot_for_every_launch_and_leads_to_its_run(browser: Chromium, site: Path) -> None:
    browser.open((site / COMPARISON).as_uri())
    browser.evaluate(SCROLL)
    browser.wait_for(DRAWN)
    points = "document.querySelectorAll('#launches .scatterlayer .point').length"
    assert browser.evaluate(points) == 9 + 1, "nine launches with a value, one without"
    assert browser.evaluate("getComputedStyle(document.querySelector('#launches .sp-static')).display") == "none"
    x, y = browser.evaluate(
        "(() => { const point = document.querySelector('#launches .scatterlayer .point');"
        " point.scrollIntoView({block: 'center'}); const box = point.getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2] })()"
    )
    browser.click(x, y)
    browser.wait(lambda: "/runs/" in str(browser.of("Page.frameNavigated")))


def test_search_works_from_disk(browser: Chromium, site: Path) -> None:
    for words, where in (("evaluation loss", "glossary.html"), ("tiny model faster", COMPARISON)):
        browser.open((site / "index.html").as_uri())
        browser.wait_for("document.documentElement.classList.contains('js')")
        browser.evaluate(
            "(() => { document.querySelector('label.md-search__icon, label[for=__search]').click();"
            " const field = document.querySelector('.md-search__input'); field.focus();"
            f" field.value = {words!r}; field.dispatchEvent(new KeyboardEvent('keyup', {{bubbles: true}})) }})()"
        )
        browser.wait_for(f"document.querySelector('.md-search-result__link[href*=\"{where}\"]')")
        assert problems(browser) == []


@pytest.mark.parametrize("scripts", [True, False])
def test_the_static_drawing_is_what_prints(browser: Chromium, site: Path, scripts: bool) -> None:
    browser.open((site / COMPARISON).as_uri(), scripts=scripts)
    if scripts:
        browser.evaluate(SCROLL)
        browser.wait_for(DRAWN)
    browser.print_media()
    shown = "getComputedStyle(document.querySelector('#launches {}')).display"
    assert browser.evaluate(shown.format(".sp-static")) == "block"
    assert browser.evaluate(shown.format(".sp-plot")) == "none"
    assert browser.evaluate("document.querySelectorAll('#launches .sp-static .sp-dot').length") == 9 + 2


def test_without_javascript_nothing_is_lost(browser: Chromium, site: Path) -> None:
    browser.open((site / COMPARISON).as_uri(), 390, scripts=False)
    assert browser.evaluate("document.querySelector('#launches svg').getBoundingClientRect().height") > 150
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    browser.open((site / "evidence.html").as_uri(), scripts=False)
    assert browser.evaluate("document.querySelectorAll('#runs tbody tr').length") == 16
    assert browser.evaluate("document.querySelector('.sp-filter').offsetHeight") == 0


def test_the_index_of_runs_is_filtered_and_sorted_in_the_page(browser: Chromium, site: Path) -> None:
    browser.open((site / "evidence.html").as_uri())
    browser.wait_for("document.querySelector('.sp-sort')")
    shown = "document.querySelectorAll('#runs tbody tr:not([hidden])').length"
    browser.evaluate(
        "(() => { const field = document.querySelector('.sp-filter [name=state]'); field.value = 'failed';"
        " field.dispatchEvent(new Event('input', {bubbles: true})) })()"
    )
    assert browser.evaluate(shown) == 1
    browser.evaluate("document.querySelectorAll('.sp-sort')[4].click()")
    assert browser.evaluate("document.querySelectorAll('#runs th')[4].getAttribute('aria-sort')") == "ascending"
    repeats = browser.evaluate("[...document.querySelectorAll('#runs tbody tr')].map(row => +row.cells[4].textContent)")
    assert repeats == sorted(repeats)


def test_figures_follow_light_and_dark(browser: Chromium, site: Path) -> None:
    found = []
    for dark in (False, True):
        browser.open((site / run_pages(site)[1]).as_uri(), dark=dark)
        browser.evaluate(SCROLL)
        browser.wait_for(DRAWN)
        ink = "document.querySelector('.sp-plot').layout.font.color"
        found.append((browser.evaluate(ink), browser.evaluate("getComputedStyle(document.body).backgroundColor")))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


CONTRAST = """(() => {
  const light = ([r, g, b]) => { const f = c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b) }
  const parse = text => text.match(/[\\d.]+/g).map(Number)
  const back = node => { for (; node; node = node.parentElement) {
    const c = parse(getComputedStyle(node).backgroundColor)
    if (c.length < 4 || c[3] > .9) return c } return [255, 255, 255] }
  const low = []
  for (const node of document.querySelectorAll('main *, article *')) {
    if (![...node.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue
    if (node.closest('svg, script, .sp-plot, .sp-old') || !node.checkVisibility()) continue
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(back(node))]
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
    if (ratio < 4.5) low.push(`${node.tagName}.${node.className}: ${ratio.toFixed(2)} ${node.textContent.slice(0, 30)}`)
  }
  return low
})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_enough_contrast(browser: Chromium, site: Path, dark: bool) -> None:
    for name in pages(site):
        browser.open((site / name).as_uri(), dark=dark)
        browser.wait_for("document.readyState === 'complete'")
        assert browser.evaluate(CONTRAST) == [], name


def test_tables_have_captions_and_figures_words(browser: Chromium, site: Path) -> None:
    for name in pages(site):
        browser.open((site / name).as_uri())
        silent = "[...document.querySelectorAll('article table, main table')].filter(table => !table.caption).length"
        assert browser.evaluate(silent) == 0, name
        mute = "[...document.querySelectorAll('[role=img]')].filter(e => !e.ariaLabel?.trim()).length"
        assert browser.evaluate(mute) == 0, name
        unreachable = "[...document.querySelectorAll('.sp-scroll')].filter(box => box.tabIndex !== 0).length"
        assert browser.evaluate(unreachable) == 0, name
