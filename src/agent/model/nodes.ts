import { z } from "zod";
import type { AssistantMessage, ToolMessage } from "../../checkpoint/messages/Message.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import { strategy, type Strategy } from "../strategy/Strategy.ts";

/** Appends the input to the history, calls the model, appends its response and returns it. Text is a user message. */
export async function callModel(input: string | ToolMessage, context: AgentContext): Promise<AssistantMessage> {
  context.llm.append(typeof input === "string" ? { role: "user", content: input } : input);
  const response = await context.llm.request();
  context.llm.append(response);
  return response;
}

/** Runs the tool calls of a message and returns their results, without appending them to the history. */
export function callTools(message: AssistantMessage, context: AgentContext): Promise<ToolMessage> {
  return context.tools.execute(message);
}

export function hasToolCalls(message: AssistantMessage): boolean {
  return typeof message.content !== "string" && message.content.some((part) => part.type === "tool-call");
}

/** Returns the joined text parts of a message, or an empty string. */
export function textOf(message: AssistantMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

export const defaultStrategyName = "default";

let made: Strategy<string, string> | undefined;

/** The default loop of an agent: calls the model and runs its tool calls until the model makes none. */
export function defaultStrategy(): Strategy<string, string> {
  return (made ??= makeDefaultStrategy());
}

function makeDefaultStrategy(): Strategy<string, string> {
  const question = z.custom<string | ToolMessage>((value) => typeof value === "string" || hasRole(value, "tool"), {
    error: ({ input }) => `expected a text or a tool message, received ${typeof input}`,
  });
  const text = z.string({
    error: ({ input }) =>
      `expected a text, received ${kindOf(input)}; pass the message of the user to run(), or give the agent a strategy with this input`,
  });
  const answer = z.custom<AssistantMessage>((value) => hasRole(value, "assistant"), "expected an assistant message");
  return strategy<string, string>(defaultStrategyName, { input: text, output: z.string() }, (graph) => {
    const ask = graph.node("callModel", { input: question }, callModel);
    const act = graph.node("callTools", { input: answer }, callTools);
    graph.edge(graph.start, ask);
    graph.edge(ask, act, { when: hasToolCalls });
    graph.edge(act, ask);
    graph.edge(ask, graph.finish, { map: textOf });
  });
}

function hasRole(value: unknown, role: string): boolean {
  return typeof value === "object" && value !== null && (value as { readonly role?: unknown }).role === role;
}
