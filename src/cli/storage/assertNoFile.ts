import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandFailure } from "../failure/CommandFailure.ts";
import { isFolder } from "./findAddress.ts";

/** @throws CommandFailure if the path exists or its directory is missing */
export async function assertNoFile(path: string): Promise<void> {
  if (await stat(path).catch(() => undefined)) throw new CommandFailure("usage", `There is a file ${path} already.`);
  if (!(await isFolder(dirname(path)))) throw new CommandFailure("notFound", `There is no folder ${dirname(path)}.`);
}
