// Looks at a running service with a browser: node build/browser/look.mjs BASE [WHAT…]
//
// It opens every page that manifest.json lists, narrow and light, wide and dark, walks it by
// keyboard and checks it by the rules of axe. Then it goes through the flows: what a person does on
// the pages that have a script. WHAT is the path of a page or the name of a flow; with any, it
// looks at these alone. It prints a line for each fault, and last how much it looked at. Its exit
// code is 1 if there was a fault.
//
// CHROMIUM names the browser; the default is chromium of PATH.
// LOG_CASES is for the flow log.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';

import { chromium } from '../npm/node_modules/playwright-core/index.mjs';
import { flows } from './flows.mjs';

const [base, ...chosen] = process.argv.slice(2);
const require = createRequire(new URL('../npm/package.json', import.meta.url));
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const narrow = 390;
const wide = 1280;
const height = 844;

/** Other widths that a page must fit: phones, a wide window at 200 % (WCAG 1.4.10), tablets. */
const reflowed = Array.from({ length: 15 }, (_, i) => 320 + 64 * i);

/** How high a page may be on a phone, and how far below the header it may begin, in pixels. */
const highest = 20_000;
const deepest = 64;

/** How many pages are looked at side by side. */
const sideBySide = 3;

let looked = 0;
let faults = 0;

function fault(where, what) {
  faults++;
  console.log(`${where}: ${what}`);
}

/** A page that reports what its console, its scripts and its requests complain about. */
async function open(context, where) {
  const page = await context.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) fault(where, `the console says ${message.text()}`);
  });
  page.on('pageerror', (error) => fault(where, `a script failed: ${error.message}`));
  page.on('requestfailed', (request) => fault(where, `not loaded: ${request.url()}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(base)) fault(where, `asks another host: ${request.url()}`);
  });
  return page;
}

/** What rules of axe find on a page: those of WCAG 2.2 AA and best practices, or chosen ones. */
async function rules(page, only = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']) {
  const { violations } = await page.evaluate(`window.axe ?? (() => { ${axe} })(); axe.run({ runOnly: ${JSON.stringify(only)}, resultTypes: ['violations'] })`);
  return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.target} ${node.html.slice(0, 160)}`));
}

/** What is wider than the page. Something may scroll by itself inside. */
function tooWide() {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const scrolls = (e) => e && (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const wide = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > clientWidth + 1 && !scrolls(e.parentElement));
  return [`scrolls sideways: ${scrollWidth} of ${clientWidth} px, by ${wide.slice(-3).map((e) => e.outerHTML.slice(0, 120)).join(' and ')}`];
}

/** What of a page on a phone is a list without end, or a band without content. */
function tooHigh({ highest, deepest }) {
  const { scrollHeight } = document.documentElement;
  const links = document.querySelector('header nav').getBoundingClientRect().bottom;
  const band = document.querySelector('main > section').firstElementChild.getBoundingClientRect().top - links;
  return [
    ...(scrollHeight > highest ? [`is ${scrollHeight} px high`] : []),
    ...(band > deepest ? [`begins ${band} px below the header`] : []),
  ];
}

/** How often Tab stops in a field for a date: at the month, the day, the year and the picker. */
const partsOfDate = 4;

/** Goes through a page with the Tab key. Each stop must be new, visible, and marked as focused. */
async function walk(page, where) {
  const stops = await page.evaluate(() => {
    const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')];
    return all.filter((e) => !e.disabled && e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true })).length;
  });
  let walked = 0;
  let last = -1;
  let parts = 0;
  const seen = new Set();
  while (walked < stops + 5) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      window.numbers ??= new Map();
      if (!window.numbers.has(e)) window.numbers.set(e, window.numbers.size);
      const { outlineStyle, outlineWidth } = getComputedStyle(e);
      const box = e.getBoundingClientRect();
      return {
        number: window.numbers.get(e),
        html: e.outerHTML.slice(0, 120),
        marked: outlineStyle !== 'none' && parseFloat(outlineWidth) > 0,
        inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
        first: e.getAttribute('href'),
      };
    });
    if (at && at.number === last && ++parts < partsOfDate) continue;
    if (!at || seen.has(at.number)) break;
    seen.add(at.number);
    last = at.number;
    parts = 0;
    if (walked === 0 && at.first !== '#content') fault(where, `the first stop of the Tab key is not a skip link: ${at.html}`);
    if (!at.marked) fault(where, `nothing shows the focus of ${at.html}`);
    if (!at.inside) fault(where, `the focus is out of sight: ${at.html}`);
    walked++;
  }
  if (walked < stops) fault(where, `the Tab key reaches ${walked} of ${stops} stops`);
}

/** Controls, and the states that they are looked at in, by the pseudo-classes of each. */
const controls = 'a[href], button, input, select, textarea, summary';
const states = { 'at rest': [], hovered: ['hover'], focused: ['focus', 'focus-visible'], active: ['hover', 'active'], disabled: [] };

/**
 * What of a control has too little contrast to what is behind it: its text 4.5, and what else shows
 * it or its focus 3 (WCAG 2.2, 1.4.3 and 1.4.11).
 */
function contrasts({ selector, disabled, focused }) {
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
  const behind = (e) => (e ? over(parse(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255]);
  const light = (color) => color.map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0.05);
  const found = [];
  for (const e of document.querySelectorAll(selector)) {
    if (!e.checkVisibility()) continue;
    if (disabled && !('disabled' in e)) continue;
    const before = e.disabled;
    if (disabled) e.disabled = true;
    const { color, outlineColor, borderTopColor, borderTopStyle, opacity } = getComputedStyle(e);
    const compare = (what, ink, ground, least) => {
      const [a, b] = [light(over([...parse(ink).slice(0, 3), opacity], ground)), light(ground)];
      const ratio = Math.max(a, b) / Math.min(a, b);
      if (ratio < least) found.push(`its ${what} has the contrast ${ratio.toFixed(2)}: ${e.outerHTML.slice(0, 120)}`);
    };
    compare('text', color, behind(e), 4.5);
    if (focused) compare('focus', outlineColor, behind(e.parentElement), 3);
    if (borderTopStyle !== 'none') compare('border', borderTopColor, behind(e.parentElement), 3);
    if (disabled) e.disabled = before;
  }
  return found;
}

/** The contrast of all controls of a page, in all their states. */
async function contrast(page, where) {
  const client = await page.context().newCDPSession(page);
  await client.send('DOM.enable');
  await client.send('CSS.enable');
  const { root } = await client.send('DOM.getDocument');
  const { nodeIds } = await client.send('DOM.querySelectorAll', { nodeId: root.nodeId, selector: controls });
  for (const [state, forcedPseudoClasses] of Object.entries(states)) {
    await Promise.all(nodeIds.map((nodeId) => client.send('CSS.forcePseudoState', { nodeId, forcedPseudoClasses })));
    const found = await page.evaluate(contrasts, { selector: controls, disabled: state === 'disabled', focused: state === 'focused' });
    for (const what of found) fault(`${where}, ${state}`, what);
  }
  await client.detach();
}

/** A page that has a script must say something to readers without. */
async function plain(path) {
  const html = await (await fetch(base + path)).text();
  const scripted = [...html.matchAll(/<script[^>]* src="([^"]*)"/g)].some(([, src]) => src !== '/page.js');
  if (scripted && !/<noscript|class="needs-script"/.test(html)) fault(path, 'has a script, and says nothing to readers without');
}

/** What a reader without scripts, and what paper, shows of a page and should not. */
async function bare(context, path) {
  const page = await open(context, path);
  await page.goto(base + path, { waitUntil: 'load' });
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 120));
  for (const what of await page.evaluate(shown, '[hidden]')) fault(`${path} without scripts`, `shows what is hidden: ${what}`);
  await page.emulateMedia({ media: 'print' });
  for (const what of await page.evaluate(shown, 'button, input, select, textarea, nav')) fault(`${path} on paper`, `shows a control: ${what}`);
  const cut = await page.evaluate(() => [...document.querySelectorAll('pre code')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 80)));
  for (const what of cut) fault(`${path} on paper`, `cuts off: ${what}`);
  await page.close();
}

/** Looks at a page: it is loaded once, and then made dark and wide. */
async function look(context, without, path) {
  const page = await open(context, path);
  await page.setViewportSize({ width: narrow, height });
  await page.emulateMedia({ colorScheme: 'light' });
  const answer = await page.goto(base + path, { waitUntil: 'load' });
  if (answer.status() !== 200) fault(path, `answers ${answer.status()}`);
  const sizes = [...await page.evaluate(tooWide), ...await page.evaluate(tooHigh, { highest, deepest })];
  for (const what of [...sizes, ...await rules(page)]) fault(`${path} narrow, light`, what);
  await contrast(page, `${path} light`);
  await walk(page, path);
  for (const width of reflowed) {
    await page.setViewportSize({ width, height });
    for (const what of await page.evaluate(tooWide)) fault(`${path} ${width} px wide`, what);
  }
  await page.setViewportSize({ width: wide, height });
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const what of [...await page.evaluate(tooWide), ...await rules(page, ['color-contrast'])]) fault(`${path} wide, dark`, what);
  await contrast(page, `${path} dark`);
  await page.close();
  await plain(path);
  await bare(without, path);
  looked++;
}

const executablePath = process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

let pages = chosen.filter((what) => what.startsWith('/'));
let names = chosen.filter((what) => !what.startsWith('/'));
if (chosen.length === 0) {
  const { documents } = await (await fetch(`${base}/manifest.json`)).json();
  const listed = documents.filter((d) => d.media_type.startsWith('text/html')).map((d) => d.path);
  if (listed.length === 0) fault('/manifest.json', 'lists no page');
  pages = ['/', ...listed.filter((path) => !['/index.html', '/404.html'].includes(path))];
  names = Object.keys(flows);
}
const shared = await browser.newContext({ reducedMotion: 'reduce' });
const scriptless = await browser.newContext({ javaScriptEnabled: false, viewport: { width: narrow, height } });
await Promise.all(Array.from({ length: sideBySide }, async () => {
  while (pages.length > 0) await look(shared, scriptless, pages.shift());
}));
for (const name of names) {
  const context = await browser.newContext({ viewport: { width: narrow, height } });
  try {
    await flows[name]({ base, page: await open(context, name), fault: (what) => fault(name, what) });
  } catch (error) {
    fault(name, error.message);
  }
  await context.close();
  looked++;
}
await browser.close();
console.log(`${looked} looks, ${faults} faults`);
process.exit(faults === 0 ? 0 : 1);
