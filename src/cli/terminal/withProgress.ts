import type { Output } from "./Output.ts";

export type Tell = (what: string, done?: number) => void;

/**
 * Runs a long action and shows its progress on a terminal.
 *
 * @param whole the total amount. Omitted if unknown.
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
