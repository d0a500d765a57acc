// Transactions on D1, those of many requests in one call.
//
// D1 runs one query after the other, and refuses more when too many wait. So few calls are under way at a time, and what
// other requests want meanwhile goes with the next one, together: in a burst they share the cost of a call, and a commit.
//
// A request can only wait for what it has begun itself: where one awaits a promise of another, and callers go away, the
// runtime goes on in the wrong request, or in none. So those who wait look again after a while, by timers of their own,
// and the first of them to find that one more call may be made makes it for all. Its caller may go away: waitUntil
// keeps the request until the call is done. A call is one transaction. Where D1 refuses it for what is in it, each
// of its requests makes a call for itself, so that none fails for what another wants.

import { within } from './deadline.mjs';
import { REFUSED, TIMEOUT } from './wire.mjs';

/**
 * @import { Result, Statement, Value } from './wire.mjs'
 *
 * @typedef {object} Job           A transaction that a request wants done.
 * @property {Statement[]} statements
 * @property {number} until        When its request waits no longer, in Unix milliseconds.
 * @property {boolean} begun       Whether it is part of a call that was made.
 * @property {boolean} alone       Whether it is to have a call of its own.
 * @property {Result} [result]     What became of it.
 */

// How long a request waits for its transaction, in milliseconds, and how long a call may take.
const LONGEST = 10_000;

// How many calls are under way at most: while one is slow, there is another.
const CALLS = 2;

// How many queries an invocation may make on the free plan, each statement of a call counted for one, and how many it may
// have made where statements of other requests go with its own: what is left then is enough for ten writes of three
// statements each, the most that a batch of MCP calls has.
const QUERIES = 50, SHARED = 20;

// What D1 says when it has certainly not run a call: it did not get in, or SQLite refuses what is in it.
const FULL = /overloaded/, FAULTY = /SQLITE_|D1_TYPE_ERROR|D1_COLUMN_NOTFOUND|D1_EXEC_ERROR/;

/** What waits for a call. @type {Job[]} */
let waiting = [];
/** The calls under way, and since when, in Unix milliseconds. @type {Map<Job[], number>} */
const underWay = new Map();
/** How long the last call took, in milliseconds. */
let took = 0;
/** How many queries invocations have made. @type {WeakMap<ExecutionContext, number>} */
const made = new WeakMap();

/** How many queries an invocation has left. @param {ExecutionContext} ctx */
export const left = (ctx) => QUERIES - (made.get(ctx) ?? 0);

/**
 * Runs statements as one transaction. It never throws.
 * @param {Statement[]} statements
 * @param {D1Database} db
 * @param {ExecutionContext} ctx
 * @returns {Promise<Result>}
 */
export async function transact(statements, db, ctx) {
  /** @type {Job} */
  const job = { statements, until: Date.now() + LONGEST, begun: false, alone: false };
  waiting.push(job);
  let rest = Math.max(took / 2, 2); // so that it is seldom late, and seldom in vain
  while (!job.result) {
    if (job.alone || (!job.begun && mayCall())) {
      const called = call(job.alone ? [job] : take(job, ctx), db, ctx);
      ctx.waitUntil(called);
      await within(called, LONGEST).catch(() => {});
    } else {
      await pause(Math.min(rest, 50));
      rest *= 2;
    }
    if (!job.result && Date.now() >= job.until) return late(job);
  }
  return job.result;
}

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Whether one more call may be made. */
function mayCall() {
  // One that takes longer than it may was ended all the same, with the request that made it.
  for (const [jobs, began] of underWay) if (Date.now() - began > LONGEST) underWay.delete(jobs);
  return underWay.size < CALLS;
}

/** What is known of a job that took too long. @param {Job} job @returns {Result} */
function late(job) {
  waiting = waiting.filter((other) => other !== job); // now: the clock of another request may be behind
  return { failure: job.begun ? TIMEOUT : REFUSED };
}

/** Takes a job from those that wait, and with it as many others as its call may have, the oldest first. @param {Job} job @param {ExecutionContext} ctx */
function take(job, ctx) {
  // Nobody is there any more for what has waited too long.
  waiting = waiting.filter((other) => other !== job && Date.now() < other.until);
  let count = 0;
  for (let room = left(ctx) - job.statements.length; count < waiting.length; count++) {
    room -= waiting[count].statements.length;
    if (room < QUERIES - SHARED) break;
  }
  return [...waiting.splice(0, count), job];
}

/** Makes the call for jobs, and says in each what became of it. @param {Job[]} jobs @param {D1Database} db @param {ExecutionContext} ctx */
async function call(jobs, db, ctx) {
  const began = Date.now();
  underWay.set(jobs, began);
  for (const job of jobs) job.begun = true;
  try {
    const statements = jobs.flatMap((job) => job.statements).map(({ sql, args }) => db.prepare(sql).bind(...args));
    made.set(ctx, QUERIES - left(ctx) + statements.length);
    const answers = statements.length === 1 ? [await statements[0].all()] : await db.batch(statements);
    for (const job of jobs) job.result = resultOf(answers.splice(0, job.statements.length));
  } catch (e) {
    const message = e instanceof Error ? e.message : '';
    console.error('store:', message);
    const faulty = FAULTY.test(message);
    for (const job of jobs) {
      if (faulty && jobs.length > 1) job.alone = true;
      else job.result = { failure: faulty || FULL.test(message) ? REFUSED : TIMEOUT };
    }
  }
  underWay.delete(jobs);
  took = Date.now() - began;
}

/** @param {D1Result[]} answers @returns {Result} */
function resultOf(answers) {
  return {
    rows: answers.map((a) => a.results.map((row) => /** @type {Value[]} */ (Object.values(/** @type {object} */ (row))))),
    changes: answers.map((a) => a.meta.changes),
  };
}
