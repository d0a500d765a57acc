// The types of the worker's JavaScript. Those of frames are of the same making as in package wire.

/** What a statement takes and a row holds. Numbers are whole and exact. */
export type Value = string | number | null;

export interface Statement {
  sql: string;
  args: Value[];
}

export interface Turn {
  /** Unix seconds. */
  now: number;
  /** 16 bytes. */
  entropy: Uint8Array;
  method: string;
  target: string;
  host: string;
  /** Request header fields, one line for each. */
  fields: string;
  body: Uint8Array;
  /** Whether the body broke off. */
  incomplete: boolean;
  client: string;
  publicKey: string;
  keyFault: boolean;
  limiter: boolean;
  /** How many statements the store runs for it at most. */
  queries: number;
  journal: Result[];
}

/** What became of an effect. Members that are not given are zero. */
export interface Result {
  /** See wire.mjs. */
  failure?: 0 | 1 | 2 | 3;
  ok?: boolean;
  status?: number;
  data?: Uint8Array;
  rows?: Value[][][];
  remaining?: number;
  reset?: number;
  millis?: number;
}

export type Exec = { kind: 'exec'; statements: Statement[] };
export type Relay = { kind: 'relay'; id: string; list: string; subject: string; text: string; records: string[]; after: string };
export type Fetch = {
  kind: 'fetch'; self: boolean; method: string; url: string; fields: string; body: Uint8Array;
  maxBytes: number; timeout: number; share: number;
};
export type Sign = { kind: 'sign'; message: Uint8Array };
export type Verify = { kind: 'verify'; message: Uint8Array; publicKey: Uint8Array; signature: Uint8Array };
export type Limit = { kind: 'limit'; key: string };
export type Effect = Exec | Relay | Fetch | Sign | Verify | Limit;

/** One thing that a client did; see package turn. */
export interface Observation {
  /** As it names itself; '' where it does not. */
  client: string;
  kind: string;
}

export interface Answer {
  status: number;
  /** Response header fields, one line for each. */
  fields: string;
  /** UTF-8: the core answers text only. As bytes it goes out as it is. */
  body: Uint8Array;
  log: string;
  /** Whether something was put into the outbox. */
  deliver: boolean;
  /** What the request showed of its clients. */
  observed: Observation[];
}

export interface Outcome {
  answer: Answer | undefined;
  effects: Effect[];
}

/** What the core says of itself and its snapshot. */
export interface Facts {
  maxBody: number;
  maxRounds: number;
  maxEffects: number;
  /** How long a transaction may take, and */
  execMillis: number;
  /** a message to the operator. */
  relayMillis: number;
  /** Names of header fields that matter for a GET or HEAD, */
  readHeaders: string[];
  /** for one with a query, */
  queryHeaders: string[];
  /** for other methods, */
  bodyHeaders: string[];
  /** for messages to the MCP server. */
  messageHeaders: string[];
  /** Of every answer, one line for each. */
  commonFields: string;
  canonicalHost: string;
  apexHost: string;
  limited: boolean;
  service: string;
  relayFrom: string;
  relayTo: string;
  /** The answer to a turn that the host could not take to its end. */
  unfinished: Answer;
  /** A POST to this path speaks a protocol of its own: */
  messagesPath: string;
  /** this is the answer where it could not be finished. */
  messagesUnfinished: Answer;
  /** The check of readiness, */
  readyPath: string;
  /** and for how many seconds its answer is given again. */
  readySeconds: number;
}

/** A way into the core. */
export type Entry = 'handle' | 'deliver';

/** What the module exports; see main.go. */
export interface Module {
  memory: WebAssembly.Memory;
  _initialize(): void;
  alloc(size: number): number;
  load(at: number, size: number): number;
  heapBase(): number;
  handle(at: number, size: number): number;
  deliver(at: number, size: number): number;
}

/** The bindings. What may be missing may be missing: see where it is used. */
export interface Env {
  /** The store. */
  DB?: D1Database;
  /** The way to the operator. */
  EMAIL?: SendEmail;
  /** How many statements D1 takes of an invocation, as a decimal number. */
  D1_QUERIES?: string;
  /** The URL, a secret, to which messages are posted as JSON instead of being mailed. */
  RELAY_WEBHOOK?: string;
  /** Counts the writes of a caller. */
  RL?: RateLimit;
  /** This service itself. */
  SELF?: Fetcher;
  /**
   * A dataset of Analytics Engine, where what is observed of clients is counted. Each data point
   * counts one, so that this is right also where Analytics Engine samples:
   *
   *   SELECT blob1 AS client, blob2 AS kind, SUM(_sample_interval) AS n
   *   FROM anteroom_observed GROUP BY client, kind
   *
   * It samples by the index: a client that floods thins out itself, and hides no other. An index
   * has at most 96 bytes, and 32 units of UTF-16 are no more than that in UTF-8. An invocation may
   * write 25 points: what a batch shows beyond that is not counted. Points are kept for 3 months.
   */
  OBSERVED?: AnalyticsEngineDataset;
  /** The published documents. */
  ASSETS?: Fetcher;
  /** Base64 of an Ed25519 seed or its PKCS #8 form. */
  RECEIPT_KEY?: string;
}

/** What an invocation of the worker has. */
export interface Invocation {
  facts: Facts;
  env: Env;
  ctx: ExecutionContext;
}

/** A request for the core, and its invocation. */
export interface Call extends Invocation {
  request: Request;
  method: string;
  host: string;
  target: string;
  entropy: Uint8Array;
  /** The name of the request, of its entropy. */
  id: string;
}

export type Performer<E> = (effect: E, by: Invocation) => Promise<Result>;
/** Who performs effects, by their kinds. */
export type Performers = { [K in Effect['kind']]: Performer<Extract<Effect, { kind: K }>> };

export interface Signer {
  key?: CryptoKey;
  /** Base64; '' without a key. */
  publicKey: string;
  /** Whether there is a key that cannot be used. */
  fault: boolean;
}

/** A transaction that a request wants done. */
export interface Job {
  statements: Statement[];
  /** When its request waits no longer, in Unix milliseconds. */
  until: number;
  /** When the call was made that it is part of, in Unix milliseconds. */
  began?: number;
  /** Whether it is to have a call of its own. */
  alone: boolean;
  /** What became of it. */
  result?: Result;
}
