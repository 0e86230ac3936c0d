import { abortable } from "../../internal/abortable.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import { eventLine } from "../../listeners/eventEmitter.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { planTrimming, trimmedKey } from "./planTrimming.ts";
import { summarizePlainly } from "./summarizePlainly.ts";
import type { OlderContent, TrimmingPolicy } from "../config/TrimmingPolicy.ts";

type ToolResult = Extract<ContentPart, { type: "tool-result" }>;

/**
 * Trims the history of a run, if configured. The next checkpoint saves the change. If a summarizer fails, its error is
 * reported and its content stays.
 */
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
  const going = new Set(older);
  const last = older.at(-1);
  return messages.flatMap((message): readonly Message[] => {
    if (message === last) return [{ role: "user", content: summaryOfOlder }];
    if (going.has(message)) return [];
    if (message.role !== "tool" || !message.content.some((part) => shortened.has(part))) return [message];
    return [{ ...message, content: message.content.map((part) => shortened.get(part) ?? part) }];
  });
}
