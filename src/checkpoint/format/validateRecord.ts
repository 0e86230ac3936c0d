import type { Entry, LogRecord } from "../records/Entry.ts";

type Test = (value: unknown) => boolean;
type Shape = readonly (readonly [field: string, test: Test])[];

const latestTime = 8.64e15;

const text: Test = (value) => typeof value === "string";
const count: Test = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const whole: Test = (value) => Number.isSafeInteger(value);
const time: Test = (value) => typeof value === "number" && Math.abs(value) <= latestTime;
const fraction: Test = (value) => typeof value === "number";
const object: Test = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const optional =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value);
const oneOf =
  (...values: readonly string[]): Test =>
  (value) =>
    text(value) && values.includes(value as string);
const listOf =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every(test);
const mapOf =
  (test: Test): Test =>
  (value) =>
    object(value) && Object.values(value as object).every(test);
const pair: Test = (value) => listOf(whole)(value) && (value as readonly unknown[]).length === 2;
const sized: Test = (value) => {
  const [hash, bytes, ...rest] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return text(hash) && count(bytes) && rest.length === 0;
};
const like =
  (...shape: Shape): Test =>
  (value) =>
    object(value) && defectOf(value as object, shape) === undefined;

const run: Shape = [
  ["run", text],
  ["at", time],
];
const settings: Shape = [
  ["model", text],
  ["tools", listOf(text)],
];
const requirements: Shape = [
  ["files", listOf(text)],
  ["environment", mapOf(text)],
  ["directory", optional(text)],
  ["hashes", optional(mapOf((value) => value === null || text(value)))],
];
const decision: Shape = [
  ["at", time],
  ["node", text],
  ["decision", text],
  ["reason", optional(text)],
];
const structure: Shape = [["fingerprint", text]];
const checkpoint: Shape = [
  ["lane", count],
  ["version", count],
  ["id", optional(text)],
  ["at", time],
  ["node", text],
  ["visit", optional(pair)],
  ["iteration", count],
  ["progress", optional(fraction)],
  ["summary", optional(text)],
  ["status", optional(oneOf("completed", "cancelled"))],
  ["standing", optional(listOf(text))],
];
const call: Shape = [
  ["visit", pair],
  ["call", text],
];
const packs = optional(listOf(like(["blob", text], ["contents", listOf(sized)])));
const numbered = listOf(like(["number", count]));

/** What the fold relies on, of each kind of record. Values of users are looked at when they are read. */
const shapes: Readonly<Record<string, Shape>> = {
  task: [["name", text]],
  run,
  lane: [
    ["from", optional(count)],
    ["keep", oneOf("all", "history", "nothing")],
  ],
  message: [["number", count]],
  edit: [
    ["remove", listOf(pair)],
    ["insert", numbered],
    ["before", optional(count)],
  ],
  storage: [["key", text]],
  settings,
  requirements,
  decision,
  structure,
  answer: [
    ["visit", pair],
    ["ordinal", count],
    ["node", text],
  ],
  intent: [...call, ["tool", text], ["effect", text], ["node", text]],
  outcome: [...call, ["error", optional(like(["message", text]))]],
  note: [
    ["key", text],
    ["call", optional(text)],
    ["packs", packs],
  ],
  checkpoint,
  request: [
    ["lane", count],
    ["visit", pair],
    ["request", text],
    ["node", text],
    ["id", optional(text)],
    ["ordinal", optional(count)],
    ["within", optional(text)],
    ["expiresAt", optional(time)],
  ],
  reply: [
    ["lane", count],
    ["request", text],
    ["at", time],
  ],
  status: [
    ["run", text],
    ["status", text],
    ["at", time],
    ["requests", optional(listOf(text))],
  ],
  rollback: [
    ["target", count],
    ["calls", listOf(text)],
    ["closed", listOf(text)],
    ["participants", optional(listOf(like(["key", text], ["packs", packs])))],
  ],
  rollback_step: [
    ["key", text],
    ["step", count],
  ],
  inverse: [["call", text]],
  reverted: [
    ["call", text],
    ["error", optional(like(["message", text]))],
  ],
  rollback_end: [["target", count]],
  pruned: [
    ["upTo", count],
    [
      "restated",
      listOf(
        like(["position", count], ["generation", count], ["checksum", text], ["records", listOf(like(["kind", text]))]),
      ),
    ],
    ["nextNumber", count],
    ["blobs", listOf(text)],
  ],
  snapshot: [
    ["checkpoint", like(...checkpoint)],
    ["checkpointId", text],
    ["parent", optional(count)],
    ["parentId", optional(text)],
    ["run", like(...run)],
    ["createdAt", time],
    ["nextNumber", count],
    ["nextLane", count],
    ["history", numbered],
    ["storage", object],
    ["settings", optional(like(...settings))],
    ["requirements", optional(like(...requirements))],
    ["structure", optional(like(...structure))],
    ["structures", listOf(text)],
    ["decisions", listOf(like(...decision))],
    ["runs", mapOf(pair)],
    ["cancelled", listOf(text)],
    ["named", mapOf(pair)],
    ["pruned", optional(pair)],
  ],
};

/** The kinds that belong to a lane. */
const ofLane: ReadonlySet<string> = new Set(
  "lane message edit storage settings requirements decision structure answer intent outcome note checkpoint".split(" "),
);

/**
 * What is wrong with the records of an entry; `undefined` when the fold can rely on them. Whoever can write a log can make
 * its checksums right, so checksums say nothing about shapes. Versions only grow and a lane begins at a checkpoint before
 * it: else lines would go in circles. Kinds that are not known are passed over, as the fold does.
 *
 * @param nextVersion what the checkpoint after those before has at least; absent: what comes before is not known.
 */
export function validateRecord({ records, position }: Entry, nextVersion?: number): string | undefined {
  let next = nextVersion;
  for (const record of records) {
    const { kind } = record;
    const { version = 0, from = -1 } = record as { version?: number; from?: number };
    const field = invalidField(record);
    const backwards = next !== undefined && kind === "checkpoint" && version < next ? "version" : undefined;
    const forwards = next !== undefined && kind === "lane" && from >= next ? "from" : undefined;
    const wrong = field ?? backwards ?? forwards;
    if (wrong !== undefined) return `the field "${wrong}" of the record "${kind}" in append ${position} is none`;
    if (next !== undefined && kind === "checkpoint") next = version + 1;
  }
  return undefined;
}

/** The field of a record that is not what it must be; `undefined`: none. What has one must not be written either. */
export function invalidField(record: LogRecord): string | undefined {
  const { lane } = record as { readonly lane?: unknown };
  return shapeDefect(record) ?? (ofLane.has(record.kind) && !count(lane) ? "lane" : undefined);
}

function shapeDefect(record: LogRecord): string | undefined {
  const shape = Object.hasOwn(shapes, record.kind) ? shapes[record.kind] : undefined;
  return shape && defectOf(record, shape);
}

function defectOf(value: object, shape: Shape): string | undefined {
  for (const [field, test] of shape) if (!test((value as Readonly<Record<string, unknown>>)[field])) return field;
  return undefined;
}
