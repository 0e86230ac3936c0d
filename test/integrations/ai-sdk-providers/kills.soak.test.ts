import { type ChildProcess, execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { providerCases } from "./providerCases.ts";
import { ProviderServer } from "./ProviderServer.ts";
import { turns } from "./refundDesk.ts";
import { portion } from "../../soak/cases.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/ai-sdk-providers/killedWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

const cases = providerCases.flatMap(({ wire, name, version }, number) =>
  (["agent", "executor"] as const).map((how) => ({ wire, name, version, number, how })),
);
/** One provider for each of the two ways. A soak has the others. */
const few = cases.filter(
  ({ name, version, how }) =>
    (name === "anthropic.messages" && version === 7 && how === "executor") ||
    (name === "openai.responses" && version === 6 && how === "agent"),
);

describe("a run of the AI SDK whose process is killed", () => {
  it.concurrent.each(portion(few, cases))(
    "in a response of $name and after a payment pays once (version $version, $how)",
    async ({ wire, number, how }) => {
      const directory = await temporaryDirectory();
      const own = how === "agent" ? turns : turns.map(({ hosted: _hosted, ...turn }) => turn);
      await using server = await ProviderServer.start(wire, own);
      let running: ChildProcess | undefined;
      const inOwnProcess = (...kill: readonly string[]) =>
        new Promise<{ readonly signal: string | undefined; readonly said: string }>((resolve) => {
          const given = [program, directory, String(number), how, server.url, ...kill];
          running = execFile(process.execPath, given, (ended, said) =>
            resolve({ signal: ended?.signal ?? undefined, said }),
          );
        });
      server.onHalf = (index) => void (index === 1 && running?.kill("SIGKILL"));
      expect(await inOwnProcess()).toEqual({ signal: "SIGKILL", said: "" });
      server.onHalf = () => undefined;
      expect(await inOwnProcess("kill")).toEqual({ signal: "SIGKILL", said: "" });
      expect(await inOwnProcess()).toEqual({ signal: undefined, said: "Both are refunded." });
      const refunds = (await readFile(join(directory, "refunds"), "utf8")).trim().split("\n");
      expect(new Set(refunds.map((line) => line.split(" ")[0]))).toEqual(new Set(["7", "8"]));
      expect(new Set(refunds).size).toBe(2);
      // Response 0 once, response 1 again after the kill, response 2 once.
      expect(server.requests.map((body) => wire.resultsIn(body))).toEqual([0, 1, 1, 3]);
      await rm(directory, { recursive: true });
    },
  );
});
