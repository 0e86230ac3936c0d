import { confirm, progress } from "@clack/prompts";
import type { Readable, Writable } from "node:stream";
import type { ProgressBar } from "./CommandIo.ts";
import { visibleText } from "./visibleText.ts";

/** Asks a question. An empty answer means no. */
export async function ask(
  question: string,
  on: { readonly input: Readable; readonly output: Writable },
): Promise<boolean> {
  return (await confirm({ message: question, initialValue: false, ...on })) === true;
}

export function progressBar(title: string, whole: number, output: Writable): ProgressBar {
  const bar = progress({ max: Math.max(whole, 1), output });
  let reached = 0;
  bar.start(visibleText(title));
  return {
    at(done, what = title) {
      bar.advance(done - reached, visibleText(what));
      reached = done;
    },
    end: () => bar.stop(visibleText(title)),
  };
}
