import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { LinePosition } from "../recording/readStart.ts";
import type { Candidate } from "./Candidate.ts";

/** Returns the start of a line at its position. */
export function startAt(
  fresh: RunStart,
  { line, visit: [visitBase, visitOrdinal], nodeId, input, unresolved, state, joined }: LinePosition,
  { llmModel, systemPrompt }: Pick<Candidate, "llmModel" | "systemPrompt">,
): RunStart {
  const { messages, storage, model, parameters, tools, iteration, decisions } = state;
  const known = withPrompt(messages, systemPrompt);
  const { numbers = { next: 1 } } = fresh.state;
  numbers.next = Math.max(numbers.next, known.length + 1);
  const settings = { model: llmModel ?? model ?? "", tools: tools ?? [], ...(parameters && { parameters }) };
  return {
    ...fresh,
    nodeId,
    input,
    ...(unresolved && { unresolved }),
    state: {
      messages: known.map((message, at) => ({ number: at + 1, message })),
      numbers,
      storage: new Map(storage),
      ...(model !== undefined && { settings }),
      iteration,
      decisions,
    },
    ...(joined && { joined }),
    line,
    visitBase,
    visitOrdinal,
  };
}

/** Returns the start of a run with another system prompt, if it has taken over the history of the run before. */
export function withSystemPrompt(fresh: RunStart, content: string | undefined): RunStart {
  const { messages } = fresh.state;
  if (!messages || content === undefined) return fresh;
  const known = withPrompt(
    messages.map(({ message }) => message),
    content,
  );
  const numbers = { next: known.length + 1 };
  const numbered = known.map((message, at) => ({ number: at + 1, message }));
  return { ...fresh, state: { ...fresh.state, messages: numbered, numbers } };
}

function withPrompt(messages: readonly Message[], content: string | undefined): readonly Message[] {
  if (content === undefined) return messages;
  const rest = messages[0]?.role === "system" ? messages.slice(1) : messages;
  return [{ role: "system", content }, ...rest];
}
