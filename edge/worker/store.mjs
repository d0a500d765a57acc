// Transactions on D1. It runs one query after the other, and refuses more when too many wait. So
// only as many calls are under way as it answers without delay; what other requests want meanwhile
// shares the next call. If D1 refuses a call for what is in it, each request makes its own.
//
// A request can only wait for what it has begun itself: if one awaits a promise of another, and
// callers go away, the runtime continues in the wrong request, or in none. So requests that wait
// look again by timers of their own, when a call is expected back, and the first to find that one
// more call may be made makes it for all. If its caller goes away, waitUntil keeps the request.

import { within } from './deadline.mjs';
import { REFUSED, TIMEOUT } from './wire.mjs';
/** @import { Env, Job, Result, Statement, Value } from './types' */

// How many calls may be under way follows what D1 shows, as the window of TCP Vegas does (Brakmo,
// O'Malley, Peterson 1994): limit * (1 - quickest / usual) of them wait before D1, and log2(limit)
// should at most. If D1 fails, half as many may be. Two may always be, as one may hang. A fixed
// number (4 to 32) took about a fifth fewer writes with a network of 20 ms and 16 or 64 callers.
const LEAST = 2;

// After so many milliseconds the quickest call is forgotten, as D1 may have moved, and half as many
// calls may be, so that the next ones find it free (BBR: Cardwell and others 2016).
const REMEMBERED = 10_000;

// How many statements an invocation may make on the free plan, and one in how many of them others
// may take.
const FREE = 50, SHARE = 4;

// For how many milliseconds, at most, a request does not learn that its call had no answer: all
// that shared the call would repeat their statements at once.
const JITTER = 500;

// What D1 says when it has not run a call: it did not get in, there is no room or no more today, or
// SQLite refuses what is in it.
const FULL = /overloaded|Cannot resolve D1 DB|xceeded (maximum|D1)/, FAULTY = /SQLITE_|D1_TYPE_ERROR|D1_COLUMN_NOTFOUND|D1_EXEC_ERROR/;

/** What waits for a call. @type {Job[]} */
let waiting = [];
/** The calls under way, and since when, in Unix milliseconds. @type {Map<Job[], number>} */
const underWay = new Map();
let limit = LEAST; // how many calls may be under way
let usual = 0, quickest = Infinity, stale = 0; // milliseconds of a call of late and at best, and when that is forgotten
/** How many queries invocations have made. @type {WeakMap<ExecutionContext, number>} */
const made = new WeakMap();

/** How many queries an invocation may make. @param {Env} env */
const most = (env) => Number(env.D1_QUERIES) || FREE;

/** How many of them are for the request itself. @param {Env} env */
export const own = (env) => most(env) - Math.floor(most(env) / SHARE);

/** @param {ExecutionContext} ctx @param {Env} env */
export const left = (ctx, env) => most(env) - (made.get(ctx) ?? 0);

// Runs statements as one transaction. A request waits for it so many milliseconds. It never throws.
/** @param {Statement[]} statements @param {D1Database} db @param {ExecutionContext} ctx @param {number} longest @param {Env} env @returns {Promise<Result>} */
export async function transact(statements, db, ctx, longest, env) {
  if (statements.length > left(ctx, env)) return { failure: REFUSED };
  /** @type {Job} */
  const job = { statements, until: Date.now() + longest, alone: false };
  waiting.push(job);
  let step = Math.max(usual / 8, 2); // so that it is seldom late, and seldom in vain
  while (!job.result) {
    if (job.alone || (!job.began && mayCall(longest))) {
      const called = call(job.alone ? [job] : take(job, ctx, env), db, ctx);
      ctx.waitUntil(called);
      await within(called, job.until - Date.now()).catch(() => {});
    } else {
      // Its call is expected back then, or the oldest one, which makes room.
      const [oldest] = underWay.values(), due = (job.began ?? oldest) + usual - Date.now();
      const pause = Math.min(Math.max(due, step), 50);
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (due < step) step *= 2;
    }
    if (job.result || Date.now() < job.until) continue;
    waiting = waiting.filter((other) => other !== job); // now: the clock of another request may be behind
    job.result = { failure: job.began ? TIMEOUT : REFUSED };
  }
  if (job.result.failure === TIMEOUT) await new Promise((resolve) => setTimeout(resolve, Math.random() * JITTER));
  return job.result;
}

/** Whether one more call may be made. @param {number} longest */
function mayCall(longest) {
  // One that takes longer than it may was ended all the same, with the request that made it.
  for (const [jobs, began] of underWay) if (Date.now() - began >= longest) underWay.delete(jobs);
  return underWay.size < limit;
}

/** Learns from a call that D1 has answered. @param {number} began  In Unix milliseconds. */
function learn(began) {
  const now = Date.now(), took = Math.max(now - began, 1); // none took no time
  usual = usual ? usual + (took - usual) / 8 : took;
  if (now > stale) halve();
  if (now > stale || took <= quickest) {
    quickest = took;
    stale = now + REMEMBERED;
  }
  const queued = limit * (1 - quickest / usual), many = Math.log2(limit);
  if (queued < many / 2 && underWay.size >= limit) limit++;
  if (queued > many && limit > LEAST) limit--;
}

const halve = () => (limit = Math.max(LEAST, limit >> 1));

// Takes a job from those that wait, and with it as many others as may go along, the oldest first.
/** @param {Job} job @param {ExecutionContext} ctx @param {Env} env */
function take(job, ctx, env) {
  // Drop jobs whose request has timed out.
  waiting = waiting.filter((other) => other !== job && Date.now() < other.until);
  let count = 0;
  for (let room = left(ctx, env) - job.statements.length; count < waiting.length; count++) {
    room -= waiting[count].statements.length;
    if (room < own(env)) break;
  }
  return [...waiting.splice(0, count), job];
}

// Makes the call for jobs, and says in each what became of it.
/** @param {Job[]} jobs @param {D1Database} db @param {ExecutionContext} ctx */
async function call(jobs, db, ctx) {
  const began = Date.now();
  underWay.set(jobs, began);
  for (const job of jobs) job.began = began;
  try {
    const statements = jobs.flatMap((job) => job.statements).map(({ sql, args }) => db.prepare(sql).bind(...args));
    made.set(ctx, (made.get(ctx) ?? 0) + statements.length);
    const answers = statements.length === 1 ? [await statements[0].all()] : await db.batch(statements);
    for (const job of jobs) job.result = { rows: answers.splice(0, job.statements.length).map(rowsOf) };
    learn(began);
  } catch (e) {
    const message = e instanceof Error ? e.message : '';
    console.error('store:', message);
    const faulty = FAULTY.test(message);
    if (!faulty) halve();
    for (const job of jobs) {
      if (faulty && jobs.length > 1) job.alone = true;
      else job.result = { failure: faulty || FULL.test(message) ? REFUSED : TIMEOUT };
    }
  }
  underWay.delete(jobs);
}

/** @param {D1Result} answer */
const rowsOf = (answer) => answer.results.map((row) => /** @type {Value[]} */ (Object.values(/** @type {object} */ (row))));
