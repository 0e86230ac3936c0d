import type { Output } from "./Output.ts";

/** Tells how far something has come. */
export type Tell = (what: string, done?: number) => void;

/**
 * Does something that may take long, and shows how far it has come where a person looks at it.
 *
 * @param whole how much there is to do. Default: unknown.
 */
export async function withProgress<Result>(
  { io, json }: Pick<Output, "io" | "json">,
  title: string,
  action: (tell: Tell) => Promise<Result>,
  whole = 1,
): Promise<Result> {
  if (json || !io.err.isTerminal) return action(() => {});
  const bar = await io.progress(title, whole);
  try {
    return await action((what, done = 0) => bar.at(done, `${title}: ${what}`));
  } finally {
    bar.end();
  }
}
