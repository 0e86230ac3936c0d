import fc from "fast-check";
import { describe, it } from "vitest";
import { ProviderUnderTest } from "../../src/testing/conformance/provider/providerTest.ts";
import { expectAll, providerCommands, type ProviderModel } from "./ProviderModel.ts";
import { providersUnderTest } from "./providersUnderTest.ts";
import { cases } from "../soak/cases.ts";

const numRuns = cases(20, 500);

describe("any sequence of saves, reads and reopenings matches a list in memory", () => {
  it.each(Object.entries(providersUnderTest))("on a provider %s", async (_name, make) => {
    await fc.assert(
      fc.asyncProperty(providerCommands, async (commands) => {
        const model: ProviderModel = new Map();
        const storage = new ProviderUnderTest(await make());
        await fc.asyncModelRun(() => ({ model, real: storage }), commands);
        await expectAll(model, storage);
      }),
      { numRuns },
    );
  });
});
