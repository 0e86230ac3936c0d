import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdkExecutor, type AiSdkAnswer, type AiSdkExecutor } from "agent-persistence/ai-sdk";
import type { PromptRequest } from "../../../src/agent/model/PromptExecutor.ts";
import type { AssistantMessage, ContentPart } from "../../../src/checkpoint/messages/Message.ts";
import type { ChatServer } from "./ChatServer.ts";

/** An executor over every model of that server. */
export function executorOf(server: ChatServer): AiSdkExecutor {
  return aiSdkExecutor(createOpenAICompatible({ name: "loopback", baseURL: server.url, apiKey: "secret" }));
}

/** Asks with what a test does not care about filled in. */
export function ask(executor: AiSdkExecutor, request: Partial<PromptRequest> = {}): Promise<AiSdkAnswer> {
  return executor.execute({
    messages: [{ role: "user", content: "Hello" }],
    tools: [],
    model: "served",
    abortSignal: new AbortController().signal,
    ...request,
  });
}

export function partsOf(message: AssistantMessage): readonly ContentPart[] {
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
}

export function callsOf(message: AssistantMessage): readonly Extract<ContentPart, { type: "tool-call" }>[] {
  return partsOf(message).filter((part) => part.type === "tool-call");
}
