import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { PromptExecutor } from "agent-persistence";
import { aiSdkExecutor } from "agent-persistence/ai-sdk";
import { scriptedModel } from "agent-persistence/testing";
import { type Person, readPeople } from "./people.ts";

const pageSize = 24;
const batchSize = 3;

export interface Model {
  readonly name: string;
  readonly promptExecutor: PromptExecutor;
}

/** What the script signs up for a person of the file; `undefined`: nobody. */
type SignedUpAs = (person: Person) => Person | undefined;

/** The model that the environment names, else a script that acts like a good model. */
export function importModel(csvFile: string, signedUpAs: SignedUpAs = (person) => person): Model {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL, OPENAI_MODEL: name } = process.env;
  if (!apiKey) return { name: "scripted", promptExecutor: scriptedModel(scriptOf(csvFile, signedUpAs)) };
  const provider = createOpenAICompatible({ name: "openai", baseURL: baseURL || "https://api.openai.com/v1", apiKey });
  return { name: name || "gpt-4.1-mini", promptExecutor: aiSdkExecutor(provider) };
}

/** Page by page: list the people, then sign them up, three calls in one answer. */
function scriptOf(csvFile: string, signedUpAs: SignedUpAs): Parameters<typeof scriptedModel>[0] {
  const people = readPeople(csvFile);
  const pages = slices(people, pageSize).flatMap((page, at) => [
    { toolCalls: [{ toolName: "listPeople", input: { from: at * pageSize, count: pageSize } }] },
    ...slices(page, batchSize).map((batch) => ({
      toolCalls: batch.flatMap((person) => signedUpAs(person) ?? []).map((input) => ({ toolName: "signUp", input })),
    })),
  ]);
  return [...pages, `All ${people.flatMap((person) => signedUpAs(person) ?? []).length} people are signed up.`];
}

function slices<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
