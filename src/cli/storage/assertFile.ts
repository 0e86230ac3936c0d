import { stat } from "node:fs/promises";
import { CommandFailure } from "../failure/CommandFailure.ts";

/** @throws CommandFailure if the file does not exist */
export async function assertFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new CommandFailure("notFound", `There is no file ${path}.`);
}
