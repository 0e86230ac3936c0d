import type { RevertedRecord } from "../../checkpoint/records/rollbackRecords.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import { inverseIdOf } from "../inverse/inverseIdOf.ts";
import type { Inverse } from "../inverse/RollbackToolRegistry.ts";
import type { ToolCallInDoubt } from "./ToolCallInDoubt.ts";
import type { ToolCallSettlement } from "./ToolCallSettlement.ts";

/** What an inverse is called where it is spoken of. */
export function inverseName(tool: string, inverse: Inverse | undefined): string {
  return inverse?.kind === "tool" ? inverse.inverse.name : `inverse of ${tool}`;
}

/** An inverse as whoever decides about it sees it. */
export function inverseInDoubt(
  call: LoggedCall,
  inverse: Inverse | undefined,
  journal: Pick<Journal, "agentId" | "sha256">,
): ToolCallInDoubt {
  const declared = inverse?.kind === "tool" ? inverse.inverse.effect : inverse?.effect;
  return {
    agentId: journal.agentId,
    toolCallId: inverseIdOf(call.call, journal),
    toolName: inverseName(call.tool, inverse),
    nodeId: call.node,
    effect: declared ?? "irreversible",
    input: call.input(),
    reverts: call.call,
  };
}

/** The code that declares that an inverse may be repeated. */
export function declarationOf(inverse: Inverse): string {
  return inverse.kind === "tool"
    ? `tool({ name: ${JSON.stringify(inverse.inverse.name)}, effect: "idempotent", … })`
    : `registerRollback(${inverse.tool.name}, …, { effect: "idempotent" })`;
}

/** What a settlement says in the record of an inverse: whether its call is taken back, stands, or is to be tried again. */
export function settledInverse(
  call: string,
  settlement: ToolCallSettlement,
  settled: RevertedRecord["settled"] & string,
): RevertedRecord {
  const record = { kind: "reverted", call, settled } as const;
  if (settlement === "retry") return { ...record, error: { message: "to be tried again" } };
  if (settlement === "unknown") return { ...record, error: { message: "not known whether it ran" }, left: true };
  if ("error" in settlement) return { ...record, error: { message: settlement.error }, left: true };
  return record;
}
