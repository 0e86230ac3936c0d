import { lostOutput } from "../../../agent/tool/recordedCall.ts";
import type { ToolCallSettlement } from "../../../doubt/ToolCallInDoubt.ts";
import { NotSerializableError } from "../../../errors/storedDataErrors.ts";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import type { OwnedThread } from "../saver/StoredThreads.ts";
import type { StoredCallEnd } from "../thread/GraphRecord.ts";
import type { Json } from "../values/Json.ts";
import type { ValueCoder } from "../write/ValueCoder.ts";

export type CapturedOutput =
  | { readonly kind: "output" | "command"; readonly json: Json }
  | { readonly kind: "lost"; readonly lost: NonNullable<StoredCallEnd["lost"]> };

/** Encodes the output of a call at once, because the caller can change it later. */
export async function capturedOutput(coder: ValueCoder, output: unknown, subject: string): Promise<CapturedOutput> {
  try {
    const command = commandFields(output);
    const json = await coder.encode(command ?? output, subject);
    return { kind: command ? "command" : "output", json };
  } catch (error) {
    return { kind: "lost", lost: lostOutput(error) };
  }
}

/**
 * Returns a function that builds the outcome that a settlement gives to a call.
 *
 * @throws NotSerializableError
 */
export async function endOfSettlement(
  coder: ValueCoder,
  settlement: ToolCallSettlement,
  subject: string,
): Promise<(thread: OwnedThread) => StoredCallEnd> {
  if (settlement === "unknown") return () => ({ unknown: true });
  if (typeof settlement !== "object") return () => ({});
  if ("error" in settlement) return () => ({ error: settlement.error });
  const captured = await capturedOutput(coder, settlement.output, subject);
  if (captured.kind === "lost") throw new NotSerializableError(subject, captured.lost.path, captured.lost.reason);
  return (thread) => callEndOf(thread, captured, subject);
}

/** Builds the outcome of a call. Append the outcome in the same turn of the event loop. */
export function callEndOf(thread: OwnedThread, captured: CapturedOutput, subject: string): StoredCallEnd {
  if (captured.kind === "lost") return { lost: captured.lost };
  const value = thread.value(captured.json, subject);
  return captured.kind === "command" ? { command: value } : { output: value };
}

/** Returns the output of a recorded call. @throws UnreadableValueError */
export async function recordedOutput(
  { coder, thread }: { readonly coder: ValueCoder; readonly thread: OwnedThread },
  { output, command }: StoredCallEnd,
): Promise<unknown> {
  const [json] = await thread.read([command ?? output ?? null]);
  const value: unknown = await coder.decode(json as Json);
  if (command === undefined) return value;
  // LangGraph recognizes a command by its class. The import is here, because only commands need LangGraph itself.
  const { Command } = await import("@langchain/langgraph");
  return new Command(value as ConstructorParameters<typeof Command>[0]);
}

interface ToolAnswer {
  readonly type: "tool";
  tool_call_id: string;
  readonly lc_kwargs?: { tool_call_id?: string };
}

/** Gives a recorded tool message the id of the current call, because repeated requests make calls with new ids. */
export function answerTo(output: unknown, id: string | undefined): unknown {
  const [answer, other] = answersIn(output);
  if (!answer || other || id === undefined) return output;
  answer.tool_call_id = id;
  if (answer.lc_kwargs) answer.lc_kwargs.tool_call_id = id;
  return output;
}

function answersIn(output: unknown): readonly ToolAnswer[] {
  if (isToolAnswer(output)) return [output];
  const { update } = (commandFields(output) ?? {}) as { readonly update?: object };
  return Object.values(update ?? {})
    .flat(2)
    .filter(isToolAnswer);
}

function isToolAnswer(value: unknown): value is ToolAnswer {
  const { type, tool_call_id: id } = Object(value) as Readonly<Record<string, unknown>>;
  return type === "tool" && typeof id === "string";
}

/** Returns the fields of a LangGraph `Command`, or `undefined` for any other value. */
function commandFields(value: unknown): object | undefined {
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) === Object.prototype)
    return undefined;
  const { lg_name: name, graph, update, resume, goto } = value as Readonly<Record<string, unknown>>;
  return name === "Command" ? withoutUndefined({ graph, update, resume, goto }) : undefined;
}
