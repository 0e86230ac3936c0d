import type { Browser, LaunchOptions } from "playwright-core";
import { describe, expect, it } from "vitest";
import { openBrowser } from "./openBrowser.ts";

/** A machine on which only one candidate runs. */
async function triedOn(runs: (options: LaunchOptions) => boolean): Promise<readonly LaunchOptions[]> {
  const tried: LaunchOptions[] = [];
  await openBrowser(async (options) => {
    tried.push(options);
    if (!runs(options)) throw new Error("it does not run");
    return {} as Browser;
  });
  return tried;
}

describe("the browser of the tests", () => {
  it("is the one of the npm package, with bundled libraries if the machine lacks them", async () => {
    expect(await triedOn(() => true)).toMatchObject([{ executablePath: expect.stringContaining("chromium") }]);
    const second = (await triedOn(({ env }) => env?.["LD_LIBRARY_PATH"]?.includes("chromium") === true)).at(-1);
    expect(second).toMatchObject({ executablePath: expect.stringContaining("chromium") });
  });

  it("is the machine's browser if the package's one does not run", async () => {
    expect((await triedOn(({ channel }) => channel === "chrome")).at(-1)).toMatchObject({ channel: "chrome" });
    expect((await triedOn(({ channel }) => channel === "msedge")).at(-1)).toMatchObject({ channel: "msedge" });
  });

  it("is required, so that the tests fail without one instead of being skipped", async () => {
    await expect(triedOn(() => false)).rejects.toThrow(/need a browser, and none runs here.*Install Chrome/);
  });
});
