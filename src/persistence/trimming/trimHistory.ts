import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { type ContentPart, type Message, partsOfType } from "../../checkpoint/messages/Message.ts";
import { eventLine } from "../../listeners/eventEmitter.ts";
import { abortable } from "../../internal/abortable.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { OlderContent, TrimmingPolicy } from "../config/PersistenceConfig.ts";

/** Trims the history of a run. The next checkpoint saves the result. If a summarizer fails, the content stays. */
export async function trimHistory(setup: PersistenceSetup, run: AgentRun): Promise<void> {
  const { trimming } = setup;
  if (!trimming) return;
  const { history } = run.state;
  const { toolOutputs = 5, messages: keep = 50 } = trimming;
  const { outputs, older } = planTrimming(history.messages, { toolOutputs, messages: keep });
  const shortened = new Map<ContentPart, ContentPart>();
  for (const result of outputs) {
    const { toolName, toolCallId, output } = result;
    const text = await summary(setup, run, trimming, { kind: "tool_output", toolName, toolCallId, output });
    if (text !== undefined) shortened.set(result, withSummary(result, text));
  }
  const text =
    older.length > 0 ? await summary(setup, run, trimming, { kind: "messages", messages: older }) : undefined;
  if (shortened.size === 0 && text === undefined) return;
  history.trim(trimmed(history.messages, shortened, text === undefined ? [] : older, text));
  const counts = { toolOutputs: shortened.size, messages: text === undefined ? 0 : older.length };
  setup.tell({ type: "history_trimmed", ...originOf(run), ...counts });
}

async function summary(
  setup: PersistenceSetup,
  run: AgentRun,
  { summarize = summarizePlainly }: TrimmingPolicy,
  older: OlderContent,
): Promise<string | undefined> {
  const { signal } = run;
  try {
    const text: unknown = await abortable(signal, async () => summarize(older, { signal }));
    if (typeof text === "string") return text;
    throw new TypeError(`The summarizer returned ${typeof text} instead of string.`);
  } catch (error) {
    if (!signal.aborted) setup.tell({ type: "trimming_failed", ...originOf(run), content: older.kind, error });
    return undefined;
  }
}

function originOf(run: AgentRun) {
  const { agentId, runId } = run;
  return { agentId, runId, ...eventLine(run) };
}

function withSummary(result: ToolResult, output: string): ToolResult {
  return { ...result, output, providerOptions: { ...result.providerOptions, [trimmedKey]: { trimmed: true } } };
}

function trimmed(
  messages: readonly Message[],
  shortened: ReadonlyMap<ContentPart, ContentPart>,
  older: readonly Message[],
  summaryOfOlder = "",
): readonly Message[] {
  // The history can contain one message object several times, so that messages are counted and not compared.
  let going = older.length;
  return messages.flatMap((message): readonly Message[] => {
    if (going > 0 && message.role !== "system") return --going === 0 ? [{ role: "user", content: summaryOfOlder }] : [];
    if (message.role !== "tool" || !message.content.some((part) => shortened.has(part))) return [message];
    return [{ ...message, content: message.content.map((part) => shortened.get(part) ?? part) }];
  });
}

const outputCharacters = 120;
const messageCharacters = 60;
/** The number of characters from the start and from the end of the conversation in the summary of older messages. */
const firstCharacters = 600;
const lastCharacters = 1_400;
const summaryHead = /^\[(\d+) earlier messages, shortened\]\n/;

/** The default summarizer: the number of messages, and the start of the oldest and newest texts. */
export function summarizePlainly(older: OlderContent): string {
  if (older.kind === "tool_output") {
    const text = textOfOutput(older.output);
    return `[shortened from ${text.length} characters] ${beginning(text, outputCharacters)}`;
  }
  const [first, ...rest] = older.messages;
  const before = first && summaryIn(first);
  const added = before ? rest : older.messages;
  const lines = added.map((message) => `${message.role}: ${beginning(textOfMessage(message), messageCharacters)}`);
  const text = [...(before ? [before.text] : []), ...lines].join("\n");
  return `[${added.length + (before?.count ?? 0)} earlier messages, shortened]\n${withoutMiddle(text)}`;
}

function summaryIn({ role, content }: Message): { readonly count: number; readonly text: string } | undefined {
  if (role !== "user" || typeof content !== "string") return undefined;
  const found = summaryHead.exec(content);
  return found ? { count: Number(found[1]), text: content.slice(found[0].length) } : undefined;
}

function textOfOutput(output: unknown): string {
  if (typeof output === "string") return output;
  try {
    return JSON.stringify(output) ?? String(output);
  } catch {
    // The value is not JSON, for example because it contains a `bigint`.
    return Object.prototype.toString.call(output);
  }
}

function textOfMessage({ content }: Message): string {
  if (typeof content === "string") return content;
  const texts = content.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text;
    if (part.type === "custom") return "";
    return part.type === "file" ? `(${part.mediaType})` : `(${part.type} ${part.toolName})`;
  });
  return texts.join(" ");
}

function withoutMiddle(text: string): string {
  if (text.length <= firstCharacters + lastCharacters) return text;
  const end = text.slice(-lastCharacters).replace(/^[\udc00-\udfff]/, "");
  return `${text.slice(0, firstCharacters).replace(/[\ud800-\udbff]$/, "")}\n…\n${end}`;
}

/** Cuts a text without splitting a surrogate pair. */
function beginning(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters).replace(/[\ud800-\udbff]$/, "")}…`;
}

type ToolResult = Extract<ContentPart, { type: "tool-result" }>;

/** The key that marks the output of a tool as a summary. */
export const trimmedKey = "agent-persistence";

interface TrimmingPlan {
  readonly outputs: readonly ToolResult[];
  readonly older: readonly Message[];
}

/** Selects the content to trim. A call is never separated from its result. */
export function planTrimming(
  messages: readonly Message[],
  limits: { readonly toolOutputs: number; readonly messages: number },
): TrimmingPlan {
  const cut = cutOf(messages, limits.messages);
  const before = messages.slice(0, cut).filter(({ role }) => role !== "system");
  // A single older message is already a summary, or too short for one.
  const older = before.length > 1 ? before : [];
  const results = messages.flatMap((message, at) => resultsOf(message).map((result) => ({ at, result })));
  const outputs = results
    .slice(0, Math.max(0, results.length - limits.toolOutputs))
    .filter(({ at, result }) => (at >= cut || older.length === 0) && !isTrimmed(result))
    .map(({ result }) => result);
  return { outputs, older };
}

export function isTrimmed({ providerOptions }: ToolResult): boolean {
  return providerOptions !== undefined && trimmedKey in providerOptions;
}

export function resultsOf({ role, content }: Message): readonly ToolResult[] {
  return role === "tool" ? content.filter((part) => part.type === "tool-result") : [];
}

/** Returns the last index at which a cut keeps `keep` messages and separates no call from its result. */
function cutOf(messages: readonly Message[], keep: number): number {
  const answeredAt = new Map<string, number>();
  for (const [at, message] of messages.entries())
    for (const { toolCallId } of resultsOf(message)) answeredAt.set(toolCallId, at);
  const limit = placeBefore(messages, keep);
  let cut = 0;
  let needed = 0;
  for (let at = 0; at < limit; at++) {
    for (const { toolCallId } of partsOfType(messages[at], "tool-call"))
      needed = Math.max(needed, answeredAt.get(toolCallId) ?? messages.length);
    if (needed <= at) cut = at + 1;
  }
  return cut;
}

function placeBefore(messages: readonly Message[], keep: number): number {
  let left = keep;
  for (let at = messages.length; at > 0; at--) {
    if (left === 0) return at;
    if (messages[at - 1]?.role !== "system") left--;
  }
  return 0;
}
