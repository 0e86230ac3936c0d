import {
  count,
  type FieldTest,
  like,
  listOf,
  object,
  oneOf,
  optional,
  text,
  whole,
} from "../../checkpoint/format/fieldTests.ts";
import type { AgentSummary } from "../RecordLog.ts";

const any: FieldTest = () => true;

const matches = like({
  agentId: text,
  status: text,
  order: text,
  dueAt: optional(text),
  requestIds: listOf(text),
  position: count,
  runId: optional(text),
  taskName: optional(text),
  priority: optional(whole),
  inputRequest: any,
  reserves: optional(listOf(like({ path: text, operation: oneOf("read", "write") }))),
  controls: optional(object),
  attempts: optional(count),
  checkpoints: optional(count),
  createdAt: text,
  updatedAt: text,
  data: any,
} satisfies Readonly<Record<keyof AgentSummary, FieldTest>>);

/** Validates a stored summary, because a process that can write it can also write its checksum. */
export function isSummary(value: unknown): value is AgentSummary {
  return matches(value);
}
