// The types of the worker's JavaScript. Package wire has the layout of those in frames.

/** An argument of a statement or a value of a row. Numbers are whole and exact. */
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
  /** Most statements that the store runs for it. */
  queries: number;
  journal: Result[];
}

/** The result of an effect. Missing members are zero. */
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
export type Relay = { kind: 'relay'; id: string; list: string; subject: string; text: string; after: string };
export type Fetch = {
  kind: 'fetch'; self: boolean; method: string; url: string; fields: string; body: Uint8Array;
  maxBytes: number; timeout: number; share: number;
};
export type Sign = { kind: 'sign'; message: Uint8Array };
export type Verify = { kind: 'verify'; message: Uint8Array; publicKey: Uint8Array; signature: Uint8Array };
export type Limit = { kind: 'limit'; key: string };
export type Effect = Exec | Relay | Fetch | Sign | Verify | Limit;

/** See package turn. */
export interface Observation {
  /** Its own name for itself, or ''. */
  client: string;
  kind: string;
}

export interface Answer {
  status: number;
  /** Response header fields, one line for each. */
  fields: string;
  /** In UTF-8. */
  body: Uint8Array;
  log: string;
  /** Whether something was put into the outbox. */
  deliver: boolean;
  observed: Observation[];
}

export interface Outcome {
  answer: Answer | undefined;
  effects: Effect[];
}

/** Facts of the core and its snapshot. */
export interface Facts {
  maxBody: number;
  maxRounds: number;
  maxEffects: number;
  /** Bound of a transaction. */
  execMillis: number;
  /** Bound of a message to the operator. */
  relayMillis: number;
  /** Header fields that the core reads of a GET or HEAD without a query, but to the MCP server. */
  readHeaders: string[];
  /** Those of any other request. */
  requestHeaders: Set<string>;
  /** Of every answer, one line for each. */
  commonFields: string;
  canonicalHost: string;
  apexHost: string;
  limited: boolean;
  service: string;
  relayFrom: string;
  relayTo: string;
  /** The answer to a turn that the host could not finish. */
  unfinished: Answer;
  /** The path of the MCP server. */
  messagesPath: string;
  /** The answer to a POST there that the host could not finish. */
  messagesUnfinished: Answer;
  /** The path of the check of readiness. */
  readyPath: string;
  /** How long an answer of that is given again. */
  readySeconds: number;
}

export type Entry = 'handle' | 'deliver';

/** The exports of the module; see main.go. */
export interface Module {
  memory: WebAssembly.Memory;
  _initialize(): void;
  alloc(size: number): number;
  load(at: number, size: number): number;
  heapBase(): number;
  handle(at: number, size: number): number;
  deliver(at: number, size: number): number;
}

/** The bindings. */
export interface Env {
  /** The store. */
  DB?: D1Database;
  /** The way to the operator. */
  EMAIL?: SendEmail;
  /** Most statements that D1 takes of an invocation, in decimal. */
  D1_QUERIES?: string;
  /** The secret URL to which messages are posted instead of being mailed. */
  RELAY_WEBHOOK?: string;
  /** Counts the writes of a caller. */
  RL?: RateLimit;
  /** This service. */
  SELF?: Fetcher;
  /**
   * A dataset of Analytics Engine for observations. Each data point counts one, so that this query
   * is right although Analytics Engine samples:
   *
   *   SELECT blob1 AS client, blob2 AS kind, SUM(_sample_interval) AS n
   *   FROM anteroom_observed GROUP BY client, kind
   *
   * It samples by the index: a client that floods thins out itself, and hides no other. An index
   * has at most 96 bytes, as 32 units of UTF-16 have in UTF-8. An invocation may write 25 points.
   * Points are kept for 3 months.
   */
  OBSERVED?: AnalyticsEngineDataset;
  /** The published documents. */
  ASSETS?: Fetcher;
  /** Base64 of an Ed25519 seed or its PKCS #8 form. */
  RECEIPT_KEY?: string;
}

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
  /** The target without its query. */
  path: string;
  entropy: Uint8Array;
  /** The name of the request. */
  id: string;
}

export type Performer<E> = (effect: E, by: Invocation) => Promise<Result>;
export type Performers = { [K in Effect['kind']]: Performer<Extract<Effect, { kind: K }>> };

export interface Signer {
  key?: CryptoKey;
  /** Base64; '' without a key. */
  publicKey: string;
  /** There is a key that cannot be used. */
  fault: boolean;
}
