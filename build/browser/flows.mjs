// What a person does on the pages that have a script, by name. A flow gets the address of the
// service, a page of a browser, and a function that reports a fault.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

export const flows = {};

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

  // The slip has the answer to what the form asks before anyone has changed it.
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
  const problem = { title: 'Invalid input', errors: [{ field: 'days', detail: '<b>days</b> is odd' }, { field: 'date', detail: 'odd' }] };
  await page.route('**/api/business-days?*', (route) => route.fulfill({ json: problem }), { times: 1 });
  await compute.click();
  await page.getByText('<b>days</b> is odd').waitFor();
  expect('the field at fault is not marked', (await days.getAttribute('aria-invalid')) === 'true');
  expect('the field at fault has no focus', await days.evaluate((e) => e === document.activeElement));
  expect('a fault without a field is lost', await status.getByText('date: odd').isVisible());

  await page.route('**/api/business-days?*', (route) => route.fulfill({ contentType: 'text/plain', body: 'odd' }), { times: 1 });
  await page.keyboard.press('Enter');
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

  // The call of every operation has an answer in words.
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
  await ask('Count business days', 'business days from 2026-12-23 to 2027-01-04. With both ends counted: 6.');

  // A year replaces a span, and the other way round.
  await field('End').fill('');
  await field('What to compute').selectOption('List holidays');
  await field('Or a year').fill('2026');
  await page.keyboard.press('Enter');
  await says('weekdays are closed in 2026.');
  expect('the holidays have no table', (await status.getByRole('row').count()) > 8);
  expect('a span is asked for beside a year', !(await command()).includes('start='));
  await field('Start').fill('2026-12-01');
  expect('a year is asked for beside a span', (await field('Or a year').inputValue()) === '');
};

/** Finds on the first screen what the service is, and the two things to do. */
flows['first screen'] = async ({ base, page, fault }) => {
  await page.goto(`${base}/`);
  const { width, height } = page.viewportSize();
  for (const size of [{ width, height }, { width: 1280, height }]) {
    await page.setViewportSize(size);
    for (const what of ['h1', 'h1 + .lead', '.prompt', '.prompt + .primary', '#mint', '#minting button']) {
      const box = await page.locator(what).boundingBox();
      if (!box || box.y + box.height > height) fault(`${size.width} px wide, ${what} ends at ${box && Math.round(box.y + box.height)} px of ${height}`);
    }
  }
};

/** Mints a receipt and has it checked; then an answer that is not what was signed. */
flows['mint'] = async ({ base, page, fault }) => {
  await page.goto(`${base}/`);
  await page.getByLabel('Name').fill('<b>wren</b>');
  await page.getByRole('button', { name: 'Mint a receipt' }).click();
  await page.getByRole('heading', { name: 'Valid' }).waitFor();
  const passed = await page.locator('#verdict .ok').count();
  if (passed !== 4) fault(`${passed} steps passed`);
  await page.locator('.receipt').getByText('<b>wren</b>').first().waitFor();
  if (await page.locator('.receipt pre').isVisible()) fault('the signature is not folded');
  await page.getByText('whole receipt as JSON').click();
  const kept = JSON.parse(await page.locator('.receipt pre').evaluate((pre) => pre.lastChild.textContent));
  const { valid } = await (await fetch(`${base}/api/receipt`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ verify: kept }) })).json();
  if (!valid) fault('the receipt in the page is not valid');
  await page.route('**/api/receipt', (route) => route.fulfill({ status: 200, json: { ...kept, note: 'x' } }), { times: 1 });
  await page.getByRole('button', { name: 'Mint a receipt' }).click();
  await page.getByText('note: x, signed as').waitFor();
};

/** Copies the prompt and a command with one click, and selects all of that with another. */
flows['copy'] = async ({ base, page, fault }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${base}/`);
  await page.getByRole('button', { name: 'Copy the prompt' }).click();
  await page.getByRole('status').getByText('Copied').waitFor();
  const prompt = await page.evaluate(() => navigator.clipboard.readText());
  if (!prompt.startsWith('Read https://') || !prompt.endsWith(await page.locator('.prompt').textContent())) fault(`copied ${prompt}`);
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

/** Finds each chart named, with the newest number of the table below it. */
flows['charts'] = async ({ base, page, fault }) => {
  await page.goto(`${base}/scoreboard.html`);
  const table = page.locator('[aria-labelledby="history"] table');
  const rows = await table.locator('tbody tr').count();
  const heads = await table.locator('thead th').allTextContents();
  const newest = await table.locator('tbody tr').first().locator('td').allTextContents();
  const charts = await page.locator('svg[role="img"]').all();
  if ((rows < 3) !== (charts.length === 0)) fault(`${charts.length} charts for ${rows} boards`);
  for (const chart of charts) {
    const said = await chart.getAttribute('aria-label');
    const n = newest[heads.findIndex((head) => said.startsWith(head)) - 1];
    if (n === undefined || !said.replaceAll(',', '').includes(` to ${n} on `)) fault(`the chart says ${said}, and the table ${n} in ${rows} rows`);
  }
};

/** Takes the picture of the front page, into the file that PICTURE names. */
flows['picture'] = async ({ base, page }) => {
  if (!process.env.PICTURE) return;
  await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 1020 });
  await page.goto(`${base}/`, { waitUntil: 'networkidle' });
  await page.screenshot({ path: process.env.PICTURE });
};

/** Checks receipts in the page, good and tampered ones, offline too, against the endpoint. */
flows['receipts'] = async ({ base, page, fault }) => {
  const post = async (body) => (await fetch(`${base}/api/receipt`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json();
  const good = await post({ agent_name: 'ledger-lark', note: '<b>"first"</b>\u2028 visit é 😀' });
  const cases = {
    good,
    'another name': { ...good, agent_name: 'eve' },
    'another canonical string': { ...good, canonical: good.canonical.replace('ledger-lark', 'eve') },
    'another hash': { ...good, payload_sha256: good.payload_sha256.replace(/^./, (c) => (c === '0' ? '1' : '0')) },
    'another signature': { ...good, signature: good.signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')) },
    'no signature': { ...good, signature: null, signed: false },
    'another key': { ...good, public_key_b64: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' },
  };
  const verdicts = Object.fromEntries(await Promise.all(Object.entries(cases).map(async ([name, receipt]) => [name, await post({ verify: receipt })])));
  if (!verdicts.good.valid) fault(`the endpoint says of a fresh receipt: ${verdicts.good.verdict}`);
  await page.goto(`${base}/receipts.html`, { waitUntil: 'networkidle' });
  await page.context().setOffline(true);
  for (const [name, receipt] of Object.entries(cases)) {
    await page.locator('#verifier textarea').fill(JSON.stringify(receipt));
    await page.getByRole('button', { name: 'Check it here' }).click();
    const said = await page.locator('#verdict > h3').textContent();
    if (said.endsWith(' Valid') !== verdicts[name].valid) fault(`${name}: the page says ${said}, and the endpoint ${verdicts[name].verdict}`);
    const steps = await page.locator('#verdict .steps > li').count();
    if (steps !== 4) fault(`${name}: ${steps} steps are shown`);
  }
  await page.context().setOffline(false);
  const filed = await fetch(`${base}/api/waitlist`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"agent_name":"ledger-lark"}' });
  const { promise, ...alone } = await filed.json();
  for (const [says, answer] of [
    ['Valid', { ...alone, promise }],
    ['Unverified', { ...alone, promise: { ...promise, public_key_b64: cases['another key'].public_key_b64 } }],
    ['The hash is right', alone],
  ]) {
    await page.locator('#verifier textarea').fill(JSON.stringify(answer));
    await page.getByRole('button', { name: 'Check it here' }).click();
    const said = await page.locator('#verdict > h3').textContent();
    if (!said.endsWith(` ${says}`)) fault(`of a registration the page says ${said}, want ${says}`);
  }
  await page.getByRole('button', { name: 'A tampered one' }).click();
  await page.getByText('agent_name: Wren, signed as wren-the-tester').waitFor();
  await page.getByRole('button', { name: 'A valid one' }).click();
  await page.getByRole('heading', { name: /^. Valid$/ }).waitFor();
};

/**
 * Checks answers in the page about the public log: those of LOG_CASES, a file with a list of
 * {Name, Answer, Proof, Says}, of which the page has to say what begins with Says. With a proof
 * nothing is asked, and without one nothing but files of the log.
 */
flows['log'] = async ({ base, page, fault }) => {
  const { log } = await (await fetch(`${base}/manifest.json`)).json();
  await page.goto(`${base}/log.html`, { waitUntil: 'networkidle' });
  const form = page.locator('#counted');
  if ((await form.count()) !== (log ? 1 : 0)) fault(`the log is ${JSON.stringify(log)}, and there are ${await form.count()} forms`);
  const cases = process.env.LOG_CASES ? JSON.parse(readFileSync(process.env.LOG_CASES, 'utf8')) : [];
  let asked = [];
  page.on('request', (request) => asked.push(request.url()));
  for (const { Name, Answer, Proof, Says } of cases) {
    asked = [];
    await page.context().setOffline(Proof !== '');
    const kept = Proof ? { name: 'kept.tlog-proof', mimeType: 'text/plain', buffer: Buffer.from(Proof) } : [];
    await form.getByLabel('A proof of it that you kept').setInputFiles(kept);
    await form.getByLabel('Or the file that it is in').setInputFiles({ name: 'answer.json', mimeType: 'application/json', buffer: Buffer.from(Answer) });
    await page.waitForFunction((text) => document.querySelector('#counted-answer').value === text, Answer);
    await form.getByRole('button', { name: 'Check it here' }).press('Enter');
    const verdict = page.locator('#verdict > p');
    await verdict.filter({ hasNotText: 'Checking' }).waitFor();
    const said = await verdict.textContent();
    if (!said.startsWith(Says)) fault(`${Name}: the page says ${said}`);
    const failed = await page.locator('#verdict li.failed').count();
    if (failed !== (Says.startsWith('Not') ? 1 : 0)) fault(`${Name}: ${failed} steps failed`);
    if (Proof && asked.length > 0) fault(`${Name}: asks for ${asked}`);
    if (asked.some((url) => !url.startsWith(`${base}/log/`)) || asked.length > 6) fault(`${Name}: asks for ${asked}`);
  }
  if (cases.length === 0) return;

  // What the browser keeps of the log is compared at the next visit.
  await page.context().setOffline(false);
  await page.reload();
  await page.locator('#kept').getByText('continues it').waitFor();
  await page.evaluate(() => {
    const kept = JSON.parse(localStorage.getItem('log-checkpoint'));
    kept.checkpoint = kept.checkpoint.replace(/\n[^\n]{43}=\n/, `\n${'A'.repeat(43)}=\n`);
    localStorage.setItem('log-checkpoint', JSON.stringify(kept));
  });
  await page.reload();
  await page.locator('#kept h3.bad').waitFor();
  await page.locator('#kept').getByText('Show both').click();
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
