import { z } from "zod";
import type { PromptExecutor } from "../../agent/model/PromptExecutor.ts";
import type { AssistantMessage, ContentPart, Message } from "../../checkpoint/messages/Message.ts";
import { ScriptEndedError } from "../../errors/testingErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";

/** One response of a scripted model. */
export type ScriptedTurn =
  | string
  | { readonly text?: string | undefined; readonly toolCalls: readonly ScriptedToolCall[] };

/** A tool call in a scripted response. The scripted model generates the id of the call. */
export interface ScriptedToolCall {
  readonly toolName: string;
  readonly input: unknown;
}

/** Options of {@link scriptedModel}. */
export interface ScriptedModelOptions {
  /**
   * With `repeating`, tool call ids restart in each response, as with some providers. With `unique`, every request
   * returns new ids, even if it is repeated. Defaults to `repeating`.
   */
  readonly toolCallIds?: "repeating" | "unique" | undefined;
}

const toolCallSchema = strictOptions(() => ({ toolName: z.string(), input: z.unknown() }));
const callsSchema = strictOptions(() => ({ text: z.string().optional(), toolCalls: z.array(toolCallSchema) }));
const turnsSchema = z.array(
  customSchema("a turn: text, tool calls, or a function that returns one", (turn) => {
    if (typeof turn === "string" || typeof turn === "function") return true;
    return Array.isArray((turn as { readonly toolCalls?: unknown } | null | undefined)?.toolCalls);
  }),
);
const optionsSchema = strictOptions(() => ({ toolCallIds: z.enum(["repeating", "unique"]).optional() }));

/**
 * Creates a prompt executor that responds from a script. The executor has no state, and counts the responses in the
 * message history. So after a crash or a rollback, a run continues with the correct response.
 *
 * @param turns - the responses, or functions that create a response from the history.
 * @throws ScriptEndedError from a request after the last turn.
 *
 * @example
 * ```ts
 * const promptExecutor = scriptedModel([
 *   { toolCalls: [{ toolName: "add", input: { a: 1, b: 2 } }] },
 *   "The sum is 3.",
 * ]);
 * ```
 */
export function scriptedModel(
  turns: readonly (ScriptedTurn | ((messages: readonly Message[]) => ScriptedTurn))[],
  options: ScriptedModelOptions = {},
): PromptExecutor {
  checkSchema(turnsSchema, turns, "turns of a scripted model");
  checkSchema(optionsSchema, options, "options of a scripted model");
  for (const [at, turn] of turns.entries()) if (typeof turn !== "function") checkTurn(turn, at);
  return {
    async execute({ messages, abortSignal }) {
      abortSignal.throwIfAborted();
      const at = messages.filter(({ role }) => role === "assistant").length;
      const turn = turns[at];
      if (turn === undefined) throw new ScriptEndedError(turns.length, at);
      const prefix = options.toolCallIds === "unique" ? `call_${crypto.randomUUID()}_` : "call_";
      if (typeof turn !== "function") return { message: messageOf(turn, prefix) };
      const made = turn(messages);
      checkTurn(made, at);
      return { message: messageOf(made, prefix) };
    },
  };
}

function checkTurn(turn: ScriptedTurn, at: number): void {
  if (typeof turn !== "string") checkSchema(callsSchema, turn, `turn ${at} of a scripted model`);
}

function messageOf(turn: ScriptedTurn, idPrefix: string): AssistantMessage {
  if (typeof turn === "string") return { role: "assistant", content: turn };
  const text: readonly ContentPart[] = turn.text === undefined ? [] : [{ type: "text", text: turn.text }];
  const calls = turn.toolCalls.map(({ toolName, input }, index): ContentPart => ({
    type: "tool-call",
    toolCallId: idPrefix + index,
    toolName,
    input,
  }));
  return { role: "assistant", content: [...text, ...calls] };
}
