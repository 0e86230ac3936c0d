import {
  count,
  type FieldTest,
  like,
  listOf,
  mapOf,
  object,
  optional,
  pair,
  text,
  whole,
} from "../../../checkpoint/format/fieldTests.ts";
import type { ShapeDefinition } from "../../../journal/shape/ShapeDefinition.ts";
import { type GraphRecord, valuesOfRecord } from "./GraphRecord.ts";
import { ThreadState } from "./ThreadState.ts";

const change = optional(like({ s: optional(object), d: optional(listOf(text)) }));
const item = either(count, (value) => object(value) && Object.hasOwn(value as object, "v"));
const end = like({
  error: optional(text),
  unknown: optional((unknown) => unknown === true),
  lost: optional(like({ path: text, reason: text })),
  settled: optional(text),
});
const segment = either(item, pair, like({ r: pair }));
const entry: FieldTest = (value) => isTuple(value, text, item);

export const threadShape: ShapeDefinition<GraphRecord, ThreadState> = {
  name: "thread",
  version: 1,
  records: {
    items: { items: Array.isArray, first: optional(count) },
    put: {
      id: text,
      ns: optional(text),
      n: optional(count),
      from: (from) => from === null || optional(count)(from),
      parent: optional(text),
      ts: text,
      v: optional(whole),
      meta: change,
      versions: change,
      seen: change,
      more: optional(object),
      set: optional(mapOf(graphValue)),
      unset: optional(listOf(text)),
      hidden: optional((hidden) => hidden === true),
    },
    writes: {
      of: either(count, text),
      ns: optional(text),
      task: text,
      path: optional(text),
      w: listOf((write) => isTuple(write, text, graphValue, optional(whole))),
    },
    forget: {
      drop: listOf(count),
      hide: listOf((hidden) => isTuple(hidden, count, listOf(text))),
    },
    call: {
      call: text,
      of: count,
      task: text,
      at: text,
      tool: text,
      effect: text,
      node: text,
      digest: text,
      end: optional(end),
    },
    call_end: { call: text, end },
  },
  values: valuesOfRecord,
  begin: () => new ThreadState(),
};

function graphValue(value: unknown): boolean {
  return either(
    item,
    like({ l: listOf(segment) }),
    like({ m: listOf(entry) }),
    like({ e: (edit) => isTuple(edit, listOf(entry), listOf(text)) }),
    like({ d: graphValue }),
  )(value);
}

function either(...tests: readonly FieldTest[]): FieldTest {
  return (value) => tests.some((test) => test(value));
}

function isTuple(value: unknown, ...tests: readonly FieldTest[]): boolean {
  return Array.isArray(value) && value.length <= tests.length && tests.every((test, at) => test(value[at]));
}
