import { confirm } from "@clack/prompts";
import type { Readable, Writable } from "node:stream";

/** Asks a question. An empty answer means no. */
export async function ask(
  question: string,
  on: { readonly input: Readable; readonly output: Writable },
): Promise<boolean> {
  return (await confirm({ message: question, initialValue: false, ...on })) === true;
}
