// Transactions on D1, which runs one query after the other and refuses more when too many wait. So
// few calls are under way at a time, and transactions of other requests share the next one. If D1
// refuses a call for a statement in it, each of its transactions gets a separate call.
//
// A request can only wait for what it has begun itself: if it awaits a promise of another request
// and callers go away, the runtime continues in the wrong request, or in none. So each request
// polls by its own timers, and the first that finds room for a call makes it for all waiting
// requests. If its caller goes away, waitUntil keeps the request.

import { within } from './deadline.mjs';
import { REFUSED, TIMEOUT } from './wire.mjs';
/** @import { Env, Job, Result, Statement, Value } from './types' */

// The number of calls under way follows the times of D1, as the window of TCP Vegas does (Brakmo,
// O'Malley, Peterson 1994): limit * (1 - quickest / usual) of them queue before D1, and log2(limit)
// should at most. If D1 fails, the limit is halved. Two calls are always allowed, as one may hang.
// A fixed limit (4 to 32) took a fifth fewer writes with a network of 20 ms and 16 or 64 callers.
const LEAST = 2;

// After so many milliseconds the quickest time is forgotten, as D1 may have moved, and the limit is
// halved, so that the next calls find D1 free (BBR: Cardwell and others 2016).
const REMEMBERED = 10_000;

// Statements of an invocation on the free plan, and the part of them that others may take: 1/SHARE.
const FREE = 50, SHARE = 4;

// Most milliseconds until a request learns that its call had no answer: otherwise all requests that
// shared the call would repeat their statements at once.
const JITTER = 500;

// Errors of calls that D1 has not run: overloaded or full, or with a statement that SQLite refuses.
const FULL = /overloaded|Cannot resolve D1 DB|xceeded (maximum|D1)/, FAULTY = /SQLITE_|D1_TYPE_ERROR|D1_COLUMN_NOTFOUND|D1_EXEC_ERROR/;

/** Jobs without a call. @type {Job[]} */
let waiting = [];
/** The calls under way by their jobs, and when each began. @type {Map<Job[], number>} */
const underWay = new Map();
let limit = LEAST; // of calls under way
let usual = 0, quickest = Infinity, stale = 0; // recent and best time of a call, and when the latter is forgotten
/** Statements that invocations have run. @type {WeakMap<ExecutionContext, number>} */
const made = new WeakMap();

/** Most statements of an invocation. @param {Env} env */
const most = (env) => Number(env.D1_QUERIES) || FREE;

/** Those reserved for the request itself. @param {Env} env */
export const own = (env) => most(env) - Math.floor(most(env) / SHARE);

/** @param {ExecutionContext} ctx @param {Env} env */
export const left = (ctx, env) => most(env) - (made.get(ctx) ?? 0);

// Runs statements as one transaction, for at most so many milliseconds. It never throws.
/** @param {Statement[]} statements @param {D1Database} db @param {ExecutionContext} ctx @param {number} longest @param {Env} env @returns {Promise<Result>} */
export async function transact(statements, db, ctx, longest, env) {
  if (statements.length > left(ctx, env)) return { failure: REFUSED };
  /** @type {Job} */
  const job = { statements, until: Date.now() + longest, alone: false };
  waiting.push(job);
  let step = Math.max(usual / 8, 2); // a poll is seldom late, and seldom in vain
  while (!job.result) {
    if (job.alone || (!job.began && mayCall(longest))) {
      const called = call(job.alone ? [job] : take(job, ctx, env), db, ctx);
      ctx.waitUntil(called);
      await within(called, job.until - Date.now()).catch(() => {});
    } else {
      // Its own call is due then, or the oldest one, which makes room.
      const [oldest] = underWay.values(), due = (job.began ?? oldest) + usual - Date.now();
      await pause(Math.min(Math.max(due, step), 50));
      if (due < step) step *= 2;
    }
    if (!job.result && Date.now() >= job.until) {
      waiting = waiting.filter((other) => other !== job); // at once, as the clock of another request may be behind
      job.result = { failure: job.began ? TIMEOUT : REFUSED };
    }
  }
  if (job.result.failure === TIMEOUT) await pause(Math.random() * JITTER);
  return job.result;
}

const pause = (/** @type {number} */ milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** @param {number} longest */
function mayCall(longest) {
  // A call that takes longer was ended all the same, with the request that made it.
  for (const [jobs, began] of underWay) if (Date.now() - began >= longest) underWay.delete(jobs);
  return underWay.size < limit;
}

/** Takes a job and as many others as have room in its call, the oldest first. @param {Job} job @param {ExecutionContext} ctx @param {Env} env */
function take(job, ctx, env) {
  waiting = waiting.filter((other) => other !== job && Date.now() < other.until);
  let count = 0;
  for (let room = left(ctx, env) - job.statements.length; count < waiting.length; count++) {
    room -= waiting[count].statements.length;
    if (room < own(env)) break;
  }
  return [...waiting.splice(0, count), job];
}

/** Makes a call, and sets the result of each job. @param {Job[]} jobs @param {D1Database} db @param {ExecutionContext} ctx */
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

/** Follows the time of a call that D1 has answered. @param {number} began */
function learn(began) {
  const now = Date.now(), took = Math.max(now - began, 1); // the clock may not have moved
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

/** @param {D1Result} answer */
const rowsOf = (answer) => answer.results.map((row) => /** @type {Value[]} */ (Object.values(/** @type {object} */ (row))));
