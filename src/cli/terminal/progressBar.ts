import type { Writable } from "node:stream";
import { progress } from "@clack/prompts";
import type { ProgressBar } from "./CommandIo.ts";
import { visibleText } from "./visibleText.ts";

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
