import type { Message } from "../../checkpoint/messages/Message.ts";
import { describeError } from "../../checkpoint/records/runRecords.ts";
import type { RecordedToolCall } from "../recording/Recording.ts";
import { diffLines } from "diff";
import { shownValue } from "../../inspect/log/ValueLoader.ts";
import { plainValue } from "../trace/RunTrace.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";

/** The first point at which a replayed run differs from its recording. */
export interface Divergence {
  /**
   * - `request`: a model request differs. `messages` shows the different messages.
   * - `call`: a tool call differs, is missing, or is not recorded.
   * - `input`: a request for input, a sleep or the receipt of an event is not recorded.
   * - `path`: another node runs next, or the run moves.
   * - `output`: the output of a node or of the run differs.
   * - `messages`: a node leaves other messages in the history.
   * - `branches`: a parallel node starts a branch that is not recorded.
   * - `failure`: a node failed, or no longer fails.
   */
  readonly what: "request" | "call" | "input" | "path" | "output" | "messages" | "branches" | "failure";
  /** The path of the node. */
  readonly nodeId: string;
  /** The branch of the node, such as `both#facts`. `undefined` outside branches. */
  readonly branch?: string;
  /** The tool names on the path to the sub-agent of the node. Empty for the agent of the run. */
  readonly agentPath: readonly string[];
  /** The recorded value. `undefined` if the recording has no value at this point. */
  readonly expected?: unknown;
  /** The value of the replayed run. `undefined` if the replayed run does not have this value. */
  readonly actual?: unknown;
  /** Why the log cannot show more. `undefined` if the difference is certain. */
  readonly reason?: string;
  /** The messages that differ. Empty if the history is the same. */
  readonly messages: readonly MessageDifference[];
}

/** A message that differs at an index of the history. */
export interface MessageDifference {
  readonly index: number;
  /** The recorded message. `undefined` if the recorded history is shorter. */
  readonly expected?: Message;
  /** The message of the replayed run. `undefined` if the replayed history is shorter. */
  readonly actual?: Message;
}

/** A difference before its place is known. */
export type FoundDifference = Pick<Divergence, "what" | "expected" | "actual" | "reason"> &
  Partial<Pick<Divergence, "messages">>;

/** Returns the messages that differ between two histories, by index. */
export function messageDifferences(
  expected: readonly Message[],
  actual: readonly Message[],
): readonly MessageDifference[] {
  const differences: MessageDifference[] = [];
  for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
    const [before, now] = [expected[index], actual[index]];
    if (before && now && sameValue(before, now)) continue;
    differences.push({ index, ...(before && { expected: before }), ...(now && { actual: now }) });
  }
  return differences;
}

export function shownCall({ toolName, input }: Pick<RecordedToolCall, "toolName" | "input">): unknown {
  return { toolName, input };
}

export function shownError(error: unknown): { readonly name: string; readonly message: string } {
  const { name, message } = describeError(error);
  return { name, message };
}

/** Ends a replayed run at its divergence or at the end of its recording. */
export class ReplayStop extends Error {
  override readonly name = "ReplayStop";

  constructor() {
    super("The replay has ended.");
  }
}

/** The maximum length of compared texts. Two longer texts are shown one after the other. */
const longest = 20_000;
/** The maximum number of different lines. The time of a comparison grows with the square of this number. */
const mostLines = 1_000;

/** Describes the first difference of a replay in some lines, with the changed lines of the values or messages. */
export function divergenceText({
  what,
  nodeId,
  branch,
  agentPath,
  expected,
  actual,
  reason,
  messages,
}: Divergence): string {
  const place = [...agentPath, branch, nodeId].filter((name) => name !== undefined).join(" / ");
  const changes =
    messages.length === 0
      ? changedLines(expected, actual)
      : messages.flatMap((message) => [
          `message ${message.index + 1}:`,
          ...changedLines(message.expected, message.actual),
        ]);
  return [
    `${what} of node ${place} differs from the recording (- recorded, + now):`,
    ...changes,
    ...(reason === undefined ? [] : [reason]),
  ].join("\n");
}

function changedLines(expected: unknown, actual: unknown): readonly string[] {
  const [before, after] = [textOf(expected), textOf(actual)];
  const isLong = before.length + after.length > longest;
  const changes = isLong ? undefined : diffLines(`${before}\n`, `${after}\n`, { maxEditLength: mostLines });
  if (!changes) return [`- ${cut(before)}`, `+ ${cut(after)}`];
  return changes.flatMap(({ value, added, removed }) => {
    const sign = added ? "+" : removed ? "-" : " ";
    return value
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => `${sign} ${line}`);
  });
}

function cut(text: string): string {
  return text.length <= longest / 4 ? text : `${text.slice(0, longest / 4)}… (${text.length} characters)`;
}

function textOf(value: unknown): string {
  if (value === undefined) return "nothing";
  return typeof value === "string" ? value : JSON.stringify(plainValue(shownValue(value, longest)), undefined, 2);
}

/** Like `isSameValue`, but compares plain data without its text. */
export function sameValue(a: unknown, b: unknown): boolean {
  const plain = samePlain(a, b);
  return plain ?? isSameValue(a, b);
}

/** Returns `undefined` for values that are not plain data. */
function samePlain(a: unknown, b: unknown): boolean | undefined {
  if (Object.is(a, b)) return true;
  if (typeof a === "string" && typeof b === "string") return false;
  if (Array.isArray(a) && Array.isArray(b)) return sameItems(a, b);
  return isPlain(a) && isPlain(b) ? sameFields(a, b) : undefined;
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean | undefined {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) {
    const same = samePlain(a[at], b[at]);
    if (same !== true) return same;
  }
  return true;
}

type Fields = Readonly<Record<string, unknown>>;

function sameFields(a: Fields, b: Fields): boolean | undefined {
  const keys = Object.keys(a);
  // A field with the value `undefined` is not stored.
  if (keys.length !== Object.keys(b).length) return undefined;
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return undefined;
    const same = samePlain(a[key], b[key]);
    if (same !== true) return same;
  }
  return true;
}

function isPlain(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
