// Transactions on D1: each is one call. D1 runs one call after the other, and refuses more when too
// many wait.

import { within } from './deadline.mjs';
import { REFUSED, TIMEOUT } from './wire.mjs';
/** @import { Env, Result, Statement, Value } from './types' */

// Statements of an invocation on the free plan.
const FREE = 50;

// Most milliseconds until a request learns that its call had no answer: otherwise all requests that
// D1 failed would repeat their statements at once.
const JITTER = 500;

// Errors of calls that D1 has not run: overloaded, exporting or full, or with a statement that
// SQLite refuses.
const NOT_RUN = new RegExp(
  'overloaded|long-running export|Cannot resolve D1 DB|xceeded (maximum|D1)|Too many (API |sub)requests|' +
    'SQLITE_|D1_TYPE_ERROR|D1_COLUMN_NOTFOUND|D1_EXEC_ERROR',
);

/** Statements that invocations have run. @type {WeakMap<ExecutionContext, number>} */
const made = new WeakMap();

/** Most statements of an invocation. @param {Env} env */
export const most = (env) => Number(env.D1_QUERIES) || FREE;

/** @param {ExecutionContext} ctx @param {Env} env */
export const left = (ctx, env) => most(env) - (made.get(ctx) ?? 0);

// Runs statements as one transaction, for at most so many milliseconds. It never throws.
/** @param {Statement[]} statements @param {D1Database} db @param {ExecutionContext} ctx @param {number} longest @param {Env} env @returns {Promise<Result>} */
export async function transact(statements, db, ctx, longest, env) {
  if (statements.length > left(ctx, env)) return { failure: REFUSED };
  made.set(ctx, (made.get(ctx) ?? 0) + statements.length);
  try {
    const bound = statements.map(({ sql, args }) => db.prepare(sql).bind(...args));
    const call = bound.length === 1 ? bound[0].all().then((answer) => [answer]) : db.batch(bound);
    return { rows: (await within(call, longest)).map(rowsOf) };
  } catch (e) {
    const message = e instanceof Error ? e.message : '';
    console.error('store:', message);
    if (NOT_RUN.test(message)) return { failure: REFUSED };
    await new Promise((resolve) => setTimeout(resolve, Math.random() * JITTER));
    return { failure: TIMEOUT };
  }
}

/** @param {D1Result} answer */
const rowsOf = (answer) => answer.results.map((row) => /** @type {Value[]} */ (Object.values(/** @type {object} */ (row))));
