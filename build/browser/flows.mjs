// What a person does on the pages that have a script, by name. A flow gets the address of the
// service, a page of a browser, and a function that reports a fault.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

export const flows = {};

/** Asks for addresses without a page. They return 200 here, or the console would complain. */
flows['missing page'] = async ({ base, page, fault }) => {
  const body = await (await fetch(`${base}/404.html`)).text();
  for (const [asked, nearest] of [['/recipts.html', '/receipts.html'], ['/log/Mcp/', '/mcp.html'], ['/%3Cb%3E', '/'], ['/a-long-way-off', '/']]) {
    await page.route(base + asked, (route) => route.fulfill({ contentType: 'text/html', body }));
    await page.goto(base + asked);
    await page.locator('#address').getByText(asked, { exact: true }).waitFor();
    const found = await page.locator('#nearest').evaluate((link) => link.pathname);
    if (found !== nearest) fault(`the page nearest to ${asked} is ${found}, not ${nearest}`);
  }
};

/** Asks for a computation in the page, with a fault first, and finds the command of it. */
flows['business days'] = async ({ base, page, fault }) => {
  await page.goto(`${base}/business-days.html`);
  const expect = (what, is) => { if (!is) fault(what); };
  const status = page.getByRole('status').and(page.locator('#answer'));
  const says = (words) => status.getByText(words).first().waitFor();
  const command = () => page.locator('#ask-call pre').textContent();
  const compute = page.getByRole('button', { name: 'Compute' });
  const field = (name) => page.getByLabel(name, { exact: true });
  const days = field('Days');

  // The slip answers the form before anyone has changed it.
  const shown = await status.locator('.board').textContent();
  const first = await (await fetch(`${base}${new URL((await command()).match(/'(.*)'/)[1]).search.replace(/^/, '/api/business-days')}`)).json();
  expect(`the page shows ${shown}, and the endpoint answers ${first.result}`, shown.includes(first.result));
  await compute.click();
  await page.locator('#answer.new').waitFor();
  expect('the form asks another question than the page answers', (await status.locator('.board').textContent()) === shown);
  const date = await status.locator('.board dd').evaluate((e) => parseFloat(getComputedStyle(e).fontSize));
  const title = await page.locator('h2').first().evaluate((e) => parseFloat(getComputedStyle(e).fontSize));
  expect(`the date has ${date} px, a heading ${title}`, date > title);

  expect('a field that add does not read is there', !(await field('Or a year').isVisible()));
  expect('a convention is asked for', !(await field('Convention').isVisible()));
  await days.fill('');
  expect('an answer is under another question', !(await status.textContent()).includes(first.result));
  await compute.click();
  expect('no days are asked of the endpoint', await days.evaluate((e) => e.matches(':invalid:focus')));
  await page.getByText('Joined with gb-eng').click();
  await page.getByRole('checkbox', { name: 'England and Wales' }).uncheck();
  await page.getByRole('checkbox', { name: 'Germany' }).check();
  await days.fill('3');
  expect(`the call is ${await command()}`, (await command()).includes('calendar=us-nyse,de&start=2026-12-23&days=3'));
  await page.getByText('Joined with de').waitFor();

  // The endpoint's own fault is made up here, so that the console has nothing to complain about.
  const problem = { title: 'Invalid input', errors: [{ field: 'days', detail: '<b>days</b> is odd' }, { field: 'date', detail: 'odd' }, { field: '', detail: 'all is odd' }] };
  // One route for both answers: while the browser changes its routes, a request may pass.
  const made = [{ json: problem }, { contentType: 'text/plain', body: 'odd' }];
  await page.route('**/api/business-days?*', (route) => made.length > 0 ? route.fulfill(made.shift()) : route.continue());
  await compute.click();
  await page.locator('#ask').getByText('<b>days</b> is odd').waitFor();
  expect('the field at fault is not marked', (await days.getAttribute('aria-invalid')) === 'true');
  expect('the field at fault has no focus', await days.evaluate((e) => e === document.activeElement));
  expect('a fault without a field is lost', await status.getByText('date: odd').isVisible());
  expect('a fault of the whole call is lost', await status.getByText('all is odd').isVisible());

  await days.press('Enter');
  await says('No answer came. Try again.');
  await days.fill('-3');
  await page.keyboard.press('Enter');
  await says('Friday. 3 business days before 2026-12-23.');
  expect('the old fault is still there', !(await page.getByText('is odd').isVisible()));

  await field('Calendar').selectOption('gb-eng');
  await days.fill('3');
  await page.keyboard.press('Enter');
  await says('Wednesday. 3 business days after 2026-12-23.');
  expect('a holiday is missing', await status.getByText('Boxing Day (substitute day), gb-eng').isVisible());
  const { result } = await (await fetch((await command()).match(/'(.*)'/)[1])).json();
  expect(`the call answers ${result}`, result === (await status.locator('.board dd').textContent()));

  // Every operation is answered in words.
  const today = await page.evaluate(() => new Date().toLocaleDateString('sv'));
  const ask = async (name, words) => {
    await field('What to compute').selectOption(name);
    expect(`an answer is under another question: ${name}`, (await status.locator('.board').count()) === 0);
    await compute.click();
    await says(words);
  };
  await ask('Find the next business day', `The next business day after ${today}.`);
  await field('Date').fill('2026-12-25');
  await ask('Is a date a business day?', 'Friday. 2026-12-25 is not a business day.');
  await ask('Find the previous business day', 'Thursday. The last business day before 2026-12-25.');
  await ask('Move a date to a business day', 'Tuesday. 2026-12-25, moved by following.');
  await field('What to compute').selectOption('Count business days');
  await field('End').fill('2027-01-04');
  await ask('Add business days to a date', 'after 2026-12-23.');
  await ask('Count business days', 'Business days from 2026-12-23 to 2027-01-04. With both ends counted: 6.');

  // A year replaces a span, and the other way round.
  await field('End').fill('');
  await field('What to compute').selectOption('List holidays');
  await field('Or a year').fill('2026');
  await page.keyboard.press('Enter');
  await says('Closed weekdays in 2026.');
  expect('the holidays have no table', (await status.getByRole('row').count()) > 8);
  expect('a span is asked for beside a year', !(await command()).includes('start='));
  await field('Start').fill('2026-12-01');
  expect('a year is asked for beside a span', (await field('Or a year').inputValue()) === '');
};

/** Finds on the first screen what to do, and on a wide one the form for a receipt. */
flows['first screen'] = async ({ base, page, fault }) => {
  await page.goto(`${base}/`);
  const { width, height } = page.viewportSize();
  const first = ['h1', 'h1 + .lead', '#copy-prompt'];
  for (const [size, parts] of [[{ width, height }, first], [{ width: 1280, height }, [...first, '.prompt >> nth=0', '#minted', '#minting button']]]) {
    await page.setViewportSize(size);
    for (const what of parts) {
      const box = await page.locator(what).boundingBox();
      if (!box || box.y + box.height > height) fault(`${size.width} px wide, ${what} ends at ${box && Math.round(box.y + box.height)} px of ${height}`);
    }
  }
};

/** What a slip shows: its stamp, its sentence, and its rows by name. */
async function slip(place) {
  await place.locator('.stamp').waitFor();
  return place.evaluate((e) => {
    const rows = [...e.querySelectorAll('.rows > div')].map((row) => [...row.children].map((part) => part.textContent));
    const stamp = e.querySelector('.stamp');
    return { stamp: stamp.firstChild.textContent.trim(), verdict: stamp.className.replace('stamp', '').trim(), says: stamp.nextElementSibling.textContent, rows: Object.fromEntries(rows) };
  });
}

/** Asks a slip for what it keeps, by its two buttons. */
async function kept(page, place) {
  await place.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('status').getByText('Copied').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const downloading = page.waitForEvent('download');
  await place.getByRole('button', { name: 'Download' }).click();
  const download = await downloading;
  return { copied, name: download.suggestedFilename(), saved: readFileSync(await download.path(), 'utf8') };
}

/** Whether an element is in the window, at least its begin. */
const inWindow = (locator) => locator.evaluate((e) => { const { top } = e.getBoundingClientRect(); return top >= 0 && top < innerHeight; });

/**
 * Gets a receipt in the place of the content's, by keyboard, and keeps it; then an answer that
 * is not what was signed, and answers that are no receipt. The check is loaded with the first one
 * only.
 */
flows['mint'] = async ({ base, page, fault }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const asked = [];
  page.on('request', (request) => asked.push(request.url().slice(base.length)));
  const place = page.locator('#minted');
  const button = page.getByRole('button', { name: 'Get a receipt' });
  await page.goto(`${base}/`, { waitUntil: 'networkidle' });
  const early = asked.filter((path) => /verdict|verify|api/.test(path));
  if (early.length > 0) fault(`before the first receipt the page asks for ${early}`);
  if ((await slip(place)).rows.agent_name !== 'ledger-lark') fault('there is no receipt of the content');
  await page.getByLabel('Agent name').fill('<b>wren</b>');
  await page.keyboard.press('Enter');
  await place.getByText('This service issued exactly this receipt.').waitFor();
  const { stamp, verdict, rows } = await slip(place);
  if (stamp !== 'Valid' || verdict !== 'valid' || rows.agent_name !== '<b>wren</b>' || 'note' in rows) fault(`the slip shows ${stamp}, ${JSON.stringify(rows)}`);
  if (!(await page.getByLabel('Agent name').evaluate((e) => e === document.activeElement))) fault('the focus has moved');
  if (!(await inWindow(place.locator('.stamp')))) fault('the stamp is out of sight');
  await page.getByRole('status').getByText('Valid. This service').waitFor({ state: 'attached' });
  const steps = await place.getByText('passed', { exact: false }).count();
  if (steps !== 5 || await place.getByRole('listitem').first().isVisible()) fault(`${steps} lines say passed, or the steps are not folded`);
  if (await place.locator('pre').last().isVisible()) fault('the JSON is not folded');
  const { copied, name, saved } = await kept(page, place);
  if (name !== 'receipt.json' || saved !== copied) fault(`${name} is not what is copied: ${saved}`);
  const receipt = JSON.parse(copied);
  const { valid } = await (await fetch(`${base}/api/receipt`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ verify: receipt }) })).json();
  if (!valid) fault('the receipt in the page is not valid');

  const made = [];
  await page.route('**/api/receipt', (route) => made.length > 0 ? route.fulfill(made.shift()) : route.continue());
  const answers = async (answer) => {
    made.push(answer);
    await button.click();
  };
  await answers({ json: { ...receipt, note: 'x' } });
  await place.getByText('note was changed').waitFor();
  const changed = await slip(place);
  if (changed.verdict !== 'tampered' || changed.rows.note !== ' → x') fault(`of a changed note the slip shows ${JSON.stringify(changed)}`);
  await answers({ json: { ...receipt, signature: null, signed: false } });
  await place.getByText('anyone could have made it').waitFor();
  if ((await slip(place)).stamp !== 'Unsigned') fault('an unsigned receipt is not stamped so');
  // A fault is made up here, so that the console has nothing to complain about. The receipt stays.
  await answers({ json: { errors: [{ field: 'note', detail: 'note is odd' }] } });
  await page.getByRole('alert').getByText('note is odd.').waitFor();
  if ((await slip(place)).stamp !== 'Unsigned') fault('the fault replaces the receipt before');
  await answers({ body: '<title>502</title>', contentType: 'text/html' });
  await page.getByRole('alert').getByText('The service sent no receipt. Try again.').waitFor();

  // If the check cannot be loaded, no request is sent. The console may report the failed load.
  const other = await page.context().newPage();
  let requests = 0;
  await other.route('**/verdict.js', (route) => route.abort());
  await other.route('**/api/receipt', (route) => { requests++; return route.abort(); });
  await other.goto(`${base}/`);
  const again = other.getByRole('button', { name: 'Get a receipt' });
  await again.click();
  await other.getByRole('alert').getByText('no receipt was requested').waitFor();
  if (requests > 0) fault('a receipt is requested that nothing can show');
  await other.unroute('**/verdict.js');
  await other.reload();
  await again.click();
  await other.getByRole('alert').getByText('The service sent no receipt. Try again.').waitFor();
  await other.close();
};

/** Copies both parts of the prompt, and a command, with one click, and selects it with another. */
flows['copy'] = async ({ base, page, fault }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${base}/`);
  await page.getByRole('button', { name: 'Copy the prompt' }).press('Enter');
  await page.getByRole('status').getByText('Copied').waitFor();
  const prompt = await page.evaluate(() => navigator.clipboard.readText());
  const parts = await page.locator('.prompt').allTextContents();
  if (parts.length !== 2 || prompt !== parts.join('\n\n') || !prompt.startsWith('Read https://')) fault(`copied ${prompt}`);
  await page.goto(`${base}/quest.html`);
  const command = await page.locator('.command code').first().textContent();
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.getByRole('status').getByText('Copied').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  if (copied !== command.trimEnd()) fault(`copied ${copied}`);
  await page.locator('.command code').first().click();
  const selected = await page.evaluate(() => String(getSelection()));
  if (!selected.includes(copied) || selected.includes('Copy')) fault(`selected ${selected}`);
};

/** Takes the picture of the front page, into the file that PICTURE names. */
flows['picture'] = async ({ base, page }) => {
  if (!process.env.PICTURE) return;
  await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 1020 });
  await page.goto(`${base}/`, { waitUntil: 'networkidle' });
  await page.screenshot({ path: process.env.PICTURE });
};

/** Checks answers in the page, good and tampered ones, offline too, against the endpoint. */
flows['receipts'] = async ({ base, page, fault }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const post = async (body, path = 'receipt') => (await fetch(`${base}/api/${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json();
  const good = await post({ agent_name: 'ledger-lark', note: '<b>"first"</b>\u2028 visit é 😀' });
  const { promise, ...alone } = await post({ agent_name: 'ledger-lark' }, 'waitlist');
  const filed = { ...alone, promise };
  const seats = ['rainmaker', 'operator', 'verifier', 'scout', 'treasurer'].map((position) => ({ position, agent_name: 'wren', allocation: 20 }));
  const org = await post({ org_name: 'Tern', roster: seats }, 'org');
  const roster = JSON.stringify(seats);
  const other = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';
  const flip = (text, a, b) => text.replace(/^./, (c) => (c === a ? b : a));
  // Each with its stamp, a part of its sentence, and a row.
  const cases = [
    ['Valid', 'issued exactly this receipt', { agent_name: 'ledger-lark' }, good],
    ['Valid', 'issued exactly this receipt', { agent_name: 'ledger-lark', pubkey: undefined }, { ...good, receipt: { agent_name: 'eve' }, pubkey: 'x' }],
    ['Valid', 'issued exactly this receipt', { record_id: undefined }, { ...good, promise, record_id: 'x' }],
    ['Unsigned', 'anyone could have made it', {}, { ...good, promise, signature: null, signed: false }],
    ['Valid', 'this charter on record', { roster, org_name: 'Tern' }, { ...org, charter: { ...org.charter, roster: seats.map((seat) => ({ ...seat, note: 'x' })) } }],
    ['Tampered', 'recorded. org_name was changed.', { org_name: 'Tern → Gull', roster }, { ...org, charter: { ...org.charter, org_name: 'Gull' } }],
    ['Tampered', 'issued. agent_name was changed.', { agent_name: 'ledger-lark → eve' }, { ...good, agent_name: 'eve' }],
    ['Tampered', 'issued. agent_name and note were changed.', { note: `${good.note} → missing` }, { ...good, agent_name: 'eve', note: undefined }],
    ['Tampered', 'agent_name and the canonical text differ', { 'agent_name in canonical': 'eve' }, { ...good, canonical: good.canonical.replace('ledger-lark', 'eve') }],
    ['Tampered', 'do not rebuild', {}, { ...good, canonical: 'x' }],
    ['Tampered', 'hash does not match', {}, { ...good, payload_sha256: flip(good.payload_sha256, '0', '1') }],
    ['Tampered', 'signature does not match', {}, { ...good, signature: flip(good.signature, 'A', 'B') }],
    ['Tampered', 'its signature is missing', { signature: 'null' }, { ...good, signature: null }],
    ['Unsigned', 'anyone could have made it', { signature: 'null' }, { ...good, signature: null, signed: false }],
    ['Not valid', 'did not sign with this key', {}, { ...good, public_key_b64: other }],
    ['Valid', `counts it by ${promise && JSON.parse(promise.text).counted_by}`, { record_id: alone.record_id }, filed],
    ['Valid', 'counts it by', { record_id: alone.record_id, note: undefined }, { ...filed, note: 'x', registration: { ...filed.registration, record_id: 'x' } }],
    ['Unverified', 'Anyone could have made this', {}, { ...filed, promise: { ...promise, public_key_b64: other } }],
    ['Tampered', 'made for another record', {}, { ...filed, record_id: '0'.repeat(32) }],
    ['Tampered', 'recorded. agent_name was changed.', { agent_name: 'ledger-lark → eve' }, { ...filed, registration: { ...filed.registration, agent_name: 'eve' } }],
    ['Hash matches', 'no promise, so anyone could have made it', { agent_name: 'ledger-lark', record_id: undefined }, alone],
    ['Unchecked', 'this is not JSON: copy the whole answer, from { to }', {}, JSON.stringify(good).slice(1)],
    ['Unchecked', 'not an answer of the service', {}, [good]],
    ['Unchecked', 'not an answer of the service', {}, { canonicals: 1 }],
    ['Unchecked', 'not an answer of the service', {}, '"receipt_spec"'],
    ['Unchecked', 'duplicate name', {}, '{"receipt_spec":1,"receipt_spec":1}'],
  ];
  const colors = { Valid: 'valid', Tampered: 'tampered', 'Not valid': 'tampered', 'Hash matches': '' };
  let asked = 0;
  page.on('request', (request) => { if (request.url().includes('/api/')) asked++; });
  await page.goto(`${base}/receipts.html`, { waitUntil: 'networkidle' });
  if (asked > 0) fault('the page asks the service before anybody checks');
  const place = page.locator('#verdict');
  const text = page.getByLabel('Receipt, registration or charter');
  await page.context().setOffline(true);
  for (const [stamp, says, rows, answer] of cases) {
    await text.fill(typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2));
    if (await place.locator('.stamp').count()) fault(`${says}: the verdict before is still there`);
    await page.keyboard.press('Tab'); // from the text to the button
    await page.keyboard.press('Enter');
    const slipped = await slip(place);
    if (slipped.stamp !== stamp || !slipped.says.includes(says) || /Unexpected|undefined/.test(slipped.says)) fault(`${says}: the page stamps ${slipped.stamp} and says ${slipped.says}`);
    if (slipped.verdict !== (colors[stamp] ?? 'unsigned')) fault(`${says}: ${stamp} has the colour of ${slipped.verdict}`);
    for (const [name, value] of Object.entries(rows)) if (slipped.rows[name] !== value) fault(`${says}: ${name} is ${slipped.rows[name]}`);
    if (!(await inWindow(place.locator('.stamp')))) fault(`${says}: the verdict is out of sight`);
    await page.getByRole('status').getByText(`${stamp}. ${slipped.says}`).waitFor({ state: 'attached' });
    if ((await place.getByRole('button', { name: 'Download' }).count()) !== (['Valid', 'Unsigned', 'Hash matches'].includes(stamp) ? 1 : 0)) fault(`${says}: the buttons are wrong`);
    const failed = await place.locator('.mark:not(.valid)').count();
    if (failed !== (['Tampered', 'Not valid', 'Unsigned'].includes(stamp) ? 1 : 0)) fault(`${says}: ${failed} steps failed`);
    if (answer.receipt_spec) {
      const verdict = await post({ verify: answer });
      if ((stamp === 'Valid') !== verdict.valid) fault(`${says}: the endpoint says ${verdict.verdict}`);
    }
  }
  await page.context().setOffline(false);
  if (asked > 0) fault('a check asks the service, though the page has a key');

  // The examples, by mouse and by keyboard. A key of one's own is used.
  await page.getByRole('button', { name: 'a tampered one' }).click();
  await place.getByText('agent_name was changed').waitFor();
  await page.getByRole('button', { name: 'a fresh one' }).press('Enter');
  await place.getByText('issued exactly this receipt').waitFor();
  const { copied, name } = await kept(page, place);
  if (name !== 'receipt.json' || copied !== await text.inputValue()) fault(`${name} has ${copied}`);
  await page.getByText('Advanced: use another public key').click();
  await page.getByLabel('Public key, in base64').fill(other);
  await page.keyboard.press('Enter');
  await place.getByText('did not sign with this key').waitFor();

  // The other part of the page.
  await page.getByRole('link', { name: 'Get one' }).press('Enter');
  if (await text.isVisible()) fault('both parts of the page are shown');
  await page.getByLabel('Note').fill('a note');
  await page.keyboard.press('Enter');
  const minted = await slip(page.locator('#minted'));
  if (minted.stamp !== 'Valid' || minted.rows.note !== 'a note') fault(`Get one shows ${JSON.stringify(minted)}`);
  if (!(await inWindow(page.locator('#minted .stamp')))) fault('the stamp of the new receipt is out of sight');

  // If the documents publish no key, the page asks the service for it when a check needs it.
  await page.route('**/verify/verify.mjs', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replace(/KEYS = "[^"]*"/, 'KEYS = ""') });
  });
  await page.goto(`${base}/receipts.html`, { waitUntil: 'networkidle' });
  asked = 0;
  for (const [requests, says, answer] of [[0, 'anyone could have made it', { ...good, signature: null, signed: false }], [1, 'issued exactly this receipt', good]]) {
    await text.fill(JSON.stringify(answer));
    await page.getByRole('button', { name: 'Check it' }).click();
    await place.getByText(says).waitFor();
    if (asked !== requests) fault(`${says}: the page asks the service ${asked} times`);
  }
  // A given key need not be the service's.
  await page.getByText('Advanced').click();
  await page.getByLabel('Public key, in base64').fill(good.public_key_b64);
  await page.keyboard.press('Enter');
  await place.getByText('Whether that service publishes the key was not checked.').waitFor();
  const given = await slip(place);
  if (given.stamp !== 'Signed') fault(`with a given key the stamp is ${given.stamp}`);
  await page.getByLabel('Public key, in base64').fill('');

  await page.route('**/api/receipt', (route) => route.fulfill({ json: { public_key_b64: '' } }));
  await page.getByRole('button', { name: 'Check it' }).click();
  await place.getByText('this service publishes no key').waitFor();
};

/**
 * Checks the shipped receipt and a fresh one, where the documents name the key of the first alone.
 * A service with a current key has nothing to look at.
 */
flows['shipped'] = async ({ base, page, fault }) => {
  if ((await (await fetch(`${base}/manifest.json`)).json()).receipt_key) return;
  const shipped = readFileSync(new URL('../../content/receipt.json', import.meta.url), 'utf8');
  await page.goto(`${base}/receipts.html`, { waitUntil: 'networkidle' });
  const place = page.locator('#verdict');
  const check = async (receipt, stamp, says) => {
    await page.getByLabel('Receipt, registration or charter').fill(receipt);
    await page.getByRole('button', { name: 'Check it' }).click();
    const slipped = await slip(place);
    if (slipped.stamp !== stamp || !slipped.says.includes(says)) fault(`${says}: the page stamps ${slipped.stamp} and says ${slipped.says}`);
  };
  await page.getByRole('button', { name: 'a fresh one' }).click();
  await place.getByText('issued exactly this receipt').waitFor();
  const fresh = await page.getByLabel('Receipt, registration or charter').inputValue();
  const foreign = JSON.stringify({ ...JSON.parse(fresh), public_key_b64: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' });
  await check(shipped, 'Valid', 'issued exactly this receipt');
  await check(foreign, 'Not valid', 'did not sign with this key');
  // If the host names no key either, a key missing in the documents is no sign of tampering.
  for (const answer of [(route) => route.fulfill({ json: { public_key_b64: '' } }), (route) => route.fulfill({ body: 'x' })]) {
    await page.route('**/api/receipt', answer);
    await check(shipped, 'Valid', 'issued exactly this receipt');
    await check(fresh, 'Unverified', 'the documents of this service do not name its key');
  }
};

/**
 * Checks answers in the page about the public log: those of LOG_CASES, a file with a list of
 * {Name, Answer, Stamp, Says}, of which the page has to say what begins with Says. Nothing but
 * files of the log is asked for.
 */
flows['log'] = async ({ base, page, fault }) => {
  const { log } = await (await fetch(`${base}/manifest.json`)).json();
  await page.goto(`${base}/log.html`, { waitUntil: 'networkidle' });
  const form = page.locator('#counted');
  if ((await form.count()) !== (log ? 1 : 0)) fault(`the log is ${JSON.stringify(log)}, and there are ${await form.count()} forms`);
  const cases = process.env.LOG_CASES ? JSON.parse(readFileSync(process.env.LOG_CASES, 'utf8')) : [];
  let asked = [];
  page.on('request', (request) => asked.push(request.url()));
  const place = page.locator('#verdict');
  const button = form.getByRole('button', { name: 'Check it' });
  for (const { Name, Answer, Stamp, Says } of cases) {
    asked = [];
    await form.getByLabel('Or the file that contains it').setInputFiles({ name: 'answer.json', mimeType: 'application/json', buffer: Buffer.from(Answer) });
    await page.waitForFunction((text) => document.querySelector('#counted-answer').value === text, Answer);
    await button.press('Enter');
    const { stamp, says, rows } = await slip(place);
    if (stamp !== Stamp || !says.startsWith(Says)) fault(`${Name}: the page stamps ${stamp} and says ${says}`);
    if (!(await inWindow(place.locator('.stamp')))) fault(`${Name}: the verdict is out of sight`);
    await page.getByRole('status').getByText(`${stamp}. ${says}`).waitFor({ state: 'attached' });
    if (stamp === 'Counted') {
      if (!/^\d+, of 306 entries$/.test(rows.Index) || rows['Counts as'] !== 'registration') fault(`${Name}: the rows are ${JSON.stringify(rows)}`);
    }
    const failed = await place.locator('.mark:not(.valid)').count();
    if (failed !== (['Counted', 'Unchecked', 'Unverified'].includes(stamp) ? 0 : 1)) fault(`${Name}: ${failed} steps failed`);
    if (asked.some((url) => !url.startsWith(`${base}/log/`)) || asked.length > 6) fault(`${Name}: asks for ${asked}`);
  }
  if (cases.length === 0) return;

  // A verdict of an earlier run does not stay next to another answer.
  await form.locator('textarea').fill(cases[0].Answer);
  await page.route('**/log/checkpoint', async (route) => {
    await form.locator('textarea').fill('{}');
    await route.continue();
  }, { times: 1 });
  const newest = page.waitForResponse(`${base}/log/checkpoint`); // the last one that a check asks for
  await button.click();
  await newest;
  await page.waitForTimeout(300);
  if ((await place.textContent()).trim()) fault('the verdict on another answer is shown');
  await form.getByLabel('Or the file that contains it').setInputFiles({ name: 'large.json', mimeType: 'application/json', buffer: Buffer.alloc((1 << 20) + 1) });
  await place.getByText('large.json is too large').waitFor();
};

/**
 * A form in a page whose console may complain, since faults are asked for: what it has sent, its
 * slip and its button that writes. lose has the next answer lost, after the service has made it.
 */
async function sender(page, address) {
  const other = await page.context().newPage();
  const calls = [];
  let isLost = false;
  await other.route('**/api/**', async (route) => {
    const request = route.request();
    const answer = await route.fetch();
    calls.push({ dry: request.url().includes('dry_run=1'), key: request.headers()['idempotency-key'], text: await answer.text() });
    if (!isLost) return route.fulfill({ response: answer });
    isLost = false;
    return route.abort();
  });
  await other.goto(address);
  return { other, calls, place: other.locator('#answer'), stamped: (words) => other.locator('#answer .stamp', { hasText: words }).waitFor(), write: other.locator('.second'), field: (name) => other.locator(`#form-${name}`), lose: () => { isLost = true; } };
}

/**
 * Tries a charter with faults and without, and files it once, though an answer is lost and a click
 * is two.
 */
flows['org'] = async ({ base, page, fault }) => {
  const expect = (what, is) => { if (!is) fault(what); };
  const { other, calls, place, stamped, write, field, lose } = await sender(page, `${base}/org.html`);
  const focused = (name) => field(name).evaluate((e) => e === document.activeElement);
  await field('org_name').fill('Te');
  await field('rainmaker').fill('ada');
  await field('rainmaker-units').fill('90');
  await field('owner_email').fill('odd');
  await other.getByText('Units: 160 of 100, 60 too many').waitFor();
  await field('owner_email').press('Enter');
  await stamped('7 faults');
  for (const [name, says] of Object.entries({
    org_name: 'Must have at least 3 characters, but has 2.', operator: 'Operator: Agent name is missing or blank.', sum: 'The allocations add up to 160 credit units, but the cap is 100.',
    owner_email: 'This is not an e-mail address: send a bare one, like name@host.example, or leave it out.',
  })) {
    const told = await field(name).evaluate((e) => document.getElementById(e.getAttribute('aria-describedby'))?.textContent);
    expect(`${name}: ${told}`, told === says && (await place.textContent()).includes(says));
  }
  expect('the first fault has no focus', await focused('org_name'));
  await place.getByRole('link', { name: 'Verifier' }).press('Enter');
  expect('a fault in the slip does not lead to its field', await focused('verifier'));
  expect('the form is cleared', await field('org_name').inputValue() === 'Te' && await field('owner_email').inputValue() === 'odd');

  for (const [i, name] of ['operator', 'verifier', 'scout', 'treasurer'].entries()) await field(name).fill(`bo ${i}`);
  for (const [name, value] of [['org_name', 'Tern & Co'], ['rainmaker-units', '20'], ['owner_email', '']]) await field(name).fill(value);
  await field('org_name').press('Enter');
  await stamped('Dry run');
  const shown = (await slip(place)).rows;
  expect(`the slip shows ${JSON.stringify(shown)}`, shown.total === '90 of 100' && shown.operator === 'bo 0, 25' && !('record_id' in shown));
  expect('a fault is still there', await other.locator('form .fault p').count() === 0);
  expect(`dry runs were sent as ${JSON.stringify(calls)}`, calls.length === 2 && calls.every(({ dry, key }) => dry && key === undefined));

  lose();
  await write.press('Enter');
  await stamped('No answer');
  await write.dblclick();
  await stamped('Recorded');
  const filed = calls.slice(2).map(({ key, text }) => ({ key, ...JSON.parse(text) }));
  expect('a click after a lost answer makes another record', filed.every(({ key, record_id: id }) => key && key === filed[0].key && id === filed[0].record_id));
  expect('no answer says that it is repeated', filed.length > 1 && !filed[0].replayed && filed[1].replayed);
  const downloading = other.waitForEvent('download');
  await place.getByRole('button', { name: 'Save the answer' }).click();
  const saved = await downloading;
  expect('the saved file is not the answer', saved.suggestedFilename() === 'answer.json' && readFileSync(await saved.path(), 'utf8') === calls.at(-1).text);
  const { counted_by: day } = JSON.parse(filed[0].promise.text);
  expect('the promise is missing', (await place.textContent()).includes(`by ${day}.`) && (await slip(place)).rows.signature === filed[0].promise.signature);
  await field('scout').fill('cy');
  await write.click();
  await place.getByText('cy, 15').waitFor();
  expect('another charter has the key of the first', calls.at(-1).key !== filed[0].key);
  await other.close();
};

/** Registers by name, and is refused: the form stays. Without scripts it is a dry run. */
flows['waitlist'] = async ({ base, page, fault }) => {
  const { other, place, stamped, write, field } = await sender(page, `${base}/waitlist.html`);
  await field('agent_name').press('Enter');
  await other.locator('form').getByText('Agent name or public key is required, and must not be blank.').waitFor();
  await field('agent_name').fill('<b>wren</b>');
  await write.click();
  await stamped('Recorded');
  if ((await slip(place)).rows.agent_name !== '<b>wren</b>') fault('the slip does not show the name');
  const detail = 'Nothing was recorded by this call: try again in 7 seconds.';
  await other.route('**/api/**', (route) => route.fulfill({ status: 429, json: { title: 'Too many writes', detail, errors: [{ field: '', detail: 'try again in 7 seconds' }] } }));
  await write.click();
  await place.getByText(detail).waitFor();
  if (await field('agent_name').inputValue() !== '<b>wren</b>') fault('a refusal clears the form');
  await other.close();

  const bare = await page.context().browser().newContext({ javaScriptEnabled: false });
  for (const [path, values] of [['org', { org_name: 'Tern', rainmaker: 'a:20', operator: 'b:20', verifier: 'c:20', scout: 'd:20', treasurer: 'e:20' }], ['waitlist', { agent_name: 'wren' }]]) {
    const without = await bare.newPage();
    await without.goto(`${base}/${path}.html`);
    for (const [name, value] of Object.entries(values)) await without.locator(`#form-${name}`).fill(value);
    await without.keyboard.press('Enter');
    await without.waitForURL('**/api/**');
    const { recorded, payload_sha256: sum } = JSON.parse(await without.locator('pre').textContent());
    if (recorded !== false || !sum) fault(`${path}: without scripts the answer is ${await without.content()}`);
  }
  await bare.close();
};

/** Offers a job, once the words of the template are replaced. */
flows['jobs'] = async ({ base, page, fault }) => {
  const { other, calls, place, stamped, write, field } = await sender(page, `${base}/jobs.html`);
  const words = await field('suggestion').inputValue();
  await write.click();
  await other.locator('form').getByText('Replace <title>, <description>').waitFor();
  await field('suggestion').fill(words.replace(/<.*?>/g, 'tariffs'));
  await field('contact').press('Enter');
  await stamped('Dry run');
  await write.click();
  await stamped('Recorded');
  const sent = calls.map(({ text }) => JSON.parse(text));
  if (!words.startsWith('JOB: <title>') || sent[0].filed || !sent[1].filed || (await slip(place)).rows.text_sha256 !== sent[1].text_sha256) fault(`the page has sent ${JSON.stringify(sent)}`);
  await other.close();
};

/** Calls the service from a page of another origin, with header fields of its own. */
flows['another origin'] = async ({ base, page, fault }) => {
  const server = createServer((_, answer) => answer.end('<!doctype html>')).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const other = await page.context().newPage(); // whose console may complain: refusals are asked for
  await other.goto(`http://127.0.0.1:${server.address().port}/`);
  const ask = (path, init = {}) => other.evaluate(async ([url, { headers, ...rest }]) => {
    const traced = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', ...headers };
    const answer = await fetch(url, { headers: traced, ...rest }).catch((e) => ({ status: e.message, headers: new Headers() }));
    const names = ['etag', 'request-id', 'content-type', 'allow'];
    return { status: answer.status, ...Object.fromEntries(names.map((name) => [name, answer.headers.get(name)])) };
  }, [base + path, init]);
  const expect = (what, told, wanted) => {
    for (const [name, value] of Object.entries(wanted)) {
      if (value === true ? !told[name] : told[name] !== value) fault(`${what}: ${name} is ${told[name]}, want ${value}`);
    }
  };
  for (const path of ['/openapi.json', '/llms.txt', '/api/quest']) {
    const first = await ask(path);
    expect(path, first, { status: 200, etag: true, 'request-id': true });
    expect(`${path} again`, await ask(path, { headers: { 'If-None-Match': first.etag } }), { status: 304, etag: first.etag, 'request-id': true });
  }
  const problem = { 'content-type': 'application/problem+json', 'request-id': true };
  const json = { 'Content-Type': 'application/json' };
  expect('DELETE of a document', await ask('/jobs.json', { method: 'DELETE' }), { status: 405, allow: 'GET, HEAD, OPTIONS', ...problem });
  expect('PUT of an endpoint', await ask('/api/quest', { method: 'PUT' }), { status: 405, allow: 'GET, HEAD, OPTIONS', ...problem });
  expect('an unknown path', await ask('/nothing', { method: 'POST', headers: json, body: '{}' }), { status: 404, ...problem });
  expect('the pilot', await ask('/v1/jobs', { method: 'PATCH', headers: json, body: '{}' }), { status: 404, ...problem });
  const call = { method: 'POST', headers: { ...json, Authorization: 'Bearer x', 'MCP-Protocol-Version': '2025-06-18' }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };
  expect('the MCP server', await ask('/api/mcp', call), { status: 200, 'request-id': true });
  const write = { method: 'POST', headers: { ...json, 'Idempotency-Key': '""' }, body: '{"agent_name":"wren"}' };
  expect('an empty key', await ask('/api/waitlist', write), { status: 400, ...problem });
  await other.close();
  server.close();
};
