// Compares an answer with its canonical text, and makes the rows of its slip.
import { check } from "/verify/verify.mjs";
import { element } from "/slip.js";

const longest = 1000; // characters of a value are shown
const mostChanges = 9; // are shown

function shown(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "missing";
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

// changes returns the innermost members that differ: [name, is, was].
function changes(name, is, was) {
  const isList = Array.isArray(is);
  if (Object(is) !== is || Object(was) !== was || isList !== Array.isArray(was)) return [[name, is, was]];
  const differs = (key) => JSON.stringify(is[key]) !== JSON.stringify(was[key]);
  const differing = Object.keys({ ...is, ...was }).filter(differs);
  return differing.flatMap((key) => changes(isList ? `${name}[${key}]` : `${name}.${key}`, is[key], was[key]));
}

// compared returns the rows of an answer. With keys it compares its members with its canonical text:
// the rows of those that differ come first, and their names are returned too. If that text is signed,
// the service wrote it. No member is shown that the check does not cover.
export async function compared({ kind, o, whole }, keys) {
  const isReceipt = kind === "receipt";
  const given = Object(isReceipt ? o : o[kind]);
  let written = {};
  try {
    written = Object(JSON.parse(o.canonical));
  } catch {} // nothing to compare with
  const names = Object.keys(written).filter((name) => name !== "commitment");
  const differs = (name) => JSON.stringify(given[name]) !== JSON.stringify(written[name]);
  const changed = keys ? names.filter(differs).slice(0, mostChanges) : [];
  const before = { kind, whole, o: { ...o, ...isReceipt ? written : { [kind]: written } } };
  const isSigned = changed.length > 0 && (isReceipt || o.promise) &&
    await check(before, keys, (name, what, ok) => ok).catch(() => false);
  const parts = changed.flatMap((name) => changes(name, given[name], written[name])).slice(0, mostChanges);
  const rows = parts.flatMap(([name, is, was]) => isSigned
    ? [[name, element("del", "", shown(was)), " → ", element("ins", "", shown(is))]]
    : [[name, shown(is)], [`${name} in canonical`, shown(was)]]);
  const others = names.filter((name) => !changed.includes(name) && name !== "receipt_spec");
  const members = [
    ...others.map((name) => [name, written[name]]),
    ...o.promise && !isReceipt ? [["recorded_at", o.recorded_at], ["record_id", o.record_id]] : [],
    ["payload_sha256", o.payload_sha256],
    ...isReceipt ? [["signature", o.signature]] : [],
  ];
  for (const [name, value] of members) {
    const isEmpty = value === undefined || value === "" || value === null && name !== "signature";
    if (!isEmpty) rows.push([name, shown(value)]);
  }
  return { rows, changed, isSigned };
}
