import { readFile } from "node:fs/promises";
import type { TokenPrices } from "../../timeline.ts";
import { jsonGiven } from "../ids/jsonGiven.ts";
import { assertFile } from "../storage/commandFiles.ts";

/** Reads a price file, which the user of the prices validates. @throws CommandFailure */
export async function pricesIn(file: string): Promise<TokenPrices> {
  await assertFile(file);
  return jsonGiven(await readFile(file, "utf8"), file) as TokenPrices;
}
