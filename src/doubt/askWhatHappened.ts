import { frozenCopy } from "../internal/frozenCopy.ts";
import { checkSchemaAsync } from "../internal/options/checkSchema.ts";
import { reasonOf } from "../internal/reasonOf.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { codeOfTool, type AnyTool, type ToolProbeAnswer } from "../agent/tool/Tool.ts";
import type { ValueWriter } from "../checkpoint/format/ValueWriter.ts";
import type { CheckpointToolCall } from "../checkpoint/data/AgentCheckpointData.ts";
import type { OutcomeRecord } from "../checkpoint/records/callRecords.ts";
import { ToolCallInDoubtError } from "../errors/toolCallErrors.ts";
import {
  checkSettlement,
  type OnToolCallInDoubt,
  type ToolCallInDoubt,
  type ToolCallSettlement,
} from "./ToolCallInDoubt.ts";

export interface SettleOptions {
  /** The tool of the call. `undefined` if the agent no longer has it. */
  readonly tool: AnyTool | undefined;
  readonly choice: OnToolCallInDoubt;
  readonly signal: AbortSignal;
  /** The code that declares the call safe to repeat, for the error message. Defaults to the declaration of the tool. */
  readonly declaration?: string;
  /** If the call is an inverse, the tool that it reverts, for the error message. */
  readonly reverted?: AnyTool;
}

/** The settlement, and who decided it. `not-done`: the call certainly had no effect. */
export interface Settled {
  readonly settlement: ToolCallSettlement | "not-done";
  readonly by: "probe" | "handler";
}

/** Calls the probe of the tool, then `onToolCallInDoubt`. @throws ToolCallInDoubtError if a person must decide. */
export async function askWhatHappened(call: ToolCallInDoubt, options: SettleOptions): Promise<Settled> {
  const { choice, signal, tool } = options;
  const { answer, ...thrown } = await probe(call, options);
  if (answer === "not-done") return { settlement: "not-done", by: "probe" };
  if (answer !== "unknown")
    return { settlement: { output: answer === "done" ? undefined : answer.output }, by: "probe" };
  if (choice === "ask") {
    const code = codeOfTool(options.reverted ?? tool);
    const declaration = options.declaration ?? code?.declaration;
    const settling = code?.settling(call.agentId, call.toolCallId);
    throw new ToolCallInDoubtError({ ...call, ...withoutUndefined({ declaration, settling }) }, thrown);
  }
  const given = choice === "retry" ? choice : await choice(call);
  signal.throwIfAborted();
  return { settlement: checkSettlement(given, call.toolCallId), by: "handler" };
}

interface Probed {
  readonly answer: ToolProbeAnswer;
  readonly cause?: unknown;
}

/** A failed probe counts as "unknown". */
async function probe({ toolCallId, input }: ToolCallInDoubt, { tool, signal }: SettleOptions): Promise<Probed> {
  if (!tool?.probe) return { answer: "unknown" };
  try {
    const parsed = await checkSchemaAsync(tool.inputSchema, input, `stored input of tool "${tool.name}"`);
    // The schema of the tool has just parsed this input.
    const answer = await tool.probe(parsed as never, { toolCallId, abortSignal: signal });
    signal.throwIfAborted();
    return { answer: checkAnswer(answer, tool.name) };
  } catch (cause) {
    signal.throwIfAborted();
    return { answer: "unknown", cause };
  }
}

function checkAnswer(answer: ToolProbeAnswer, tool: string): ToolProbeAnswer {
  if (answer === "done" || answer === "not-done" || answer === "unknown") return answer;
  if (typeof answer === "object" && answer?.status === "done" && "output" in answer) return answer;
  throw new TypeError(
    `The probe of tool "${tool}" answered ${reasonOf(answer)}. Return "done", "not-done", "unknown" or { status: "done", output }.`,
  );
}

export function settledOutcome(
  settlement: ToolCallSettlement,
  settled: OutcomeRecord["settled"] & string,
  tool: string,
  writer: ValueWriter,
): Partial<OutcomeRecord> {
  if (settlement === "retry") return { retry: true, settled };
  if (settlement === "unknown") return { unknown: true, settled };
  if ("error" in settlement) return { error: { message: settlement.error }, settled };
  return { output: writer.value(settlement.output, `the settled output of "${tool}"`), settled };
}

interface SettledEnd {
  readonly end: Partial<OutcomeRecord>;
  readonly shown: Pick<CheckpointToolCall, "status" | "output" | "error">;
}

/**
 * Returns the end of a call in doubt whose node runs again. `undefined` if the call must be repeated.
 *
 * @throws ToolCallInDoubtError if a person must decide.
 */
export async function settledEnd(
  call: ToolCallInDoubt,
  options: SettleOptions,
  writer: ValueWriter,
): Promise<SettledEnd | undefined> {
  const answer = await askWhatHappened(call, options);
  if (answer.settlement === "retry" || answer.settlement === "not-done") return undefined;
  const settlement = frozenCopy(answer.settlement);
  return { end: settledOutcome(settlement, answer.by, call.toolName, writer), shown: shownEnd(settlement) };
}

function shownEnd(settlement: Exclude<ToolCallSettlement, "retry">): SettledEnd["shown"] {
  if (settlement === "unknown") return { status: "unknown" };
  if ("error" in settlement) return { status: "failed", error: settlement.error };
  return { status: "succeeded", output: settlement.output };
}
