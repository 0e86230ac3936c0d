import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { PromptExecutor } from "agent-persistence";
import { aiSdkExecutor } from "agent-persistence/ai-sdk";
import { scriptedModel } from "agent-persistence/testing";
import { greetingsFile } from "./Repository.ts";

export interface Model {
  readonly name: string;
  readonly promptExecutor: PromptExecutor;
}

/** The model that the environment names, else a script that acts like a good model. */
export function codingModel(): Model {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL, OPENAI_MODEL: name } = process.env;
  if (!apiKey) return { name: "scripted", promptExecutor: scriptedModel(script) };
  const provider = createOpenAICompatible({ name: "openai", baseURL: baseURL || "https://api.openai.com/v1", apiKey });
  return { name: name || "gpt-4.1-mini", promptExecutor: aiSdkExecutor(provider) };
}

const script: Parameters<typeof scriptedModel>[0] = [
  { toolCalls: [{ toolName: "create_branch", input: { name: "polite" } }] },
  { toolCalls: [{ toolName: "read_file", input: { path: greetingsFile } }] },
  {
    toolCalls: [
      { toolName: "edit_file", input: { path: greetingsFile, oldText: '"Hello "', newText: '"Good day "' } },
      { toolName: "write_file", input: { path: "NOTES.md", content: 'greet says "Good day".\n' } },
    ],
  },
  { toolCalls: [{ toolName: "run_tests", input: {} }] },
  'greet says "Good day" now, on the branch "polite".',
];
