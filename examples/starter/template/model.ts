import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { PromptExecutor } from "agent-persistence";
import { aiSdkExecutor } from "agent-persistence/ai-sdk";
import { scriptedModel } from "agent-persistence/testing";

const { OPENAI_API_KEY: apiKey } = process.env;

/** OpenAI if there is a key, else a script. Any model of the AI SDK can be used. */
export const llmModel: string = apiKey === undefined ? "scripted" : "gpt-5-mini";
export const promptExecutor: PromptExecutor =
  apiKey === undefined
    ? scriptedModel([
        { toolCalls: ["Alex", "Maria"].map((name) => ({ toolName: "bookSeat", input: { name } })) },
        "Both seats are booked.",
      ])
    : aiSdkExecutor(createOpenAICompatible({ name: "openai", baseURL: "https://api.openai.com/v1", apiKey }));
