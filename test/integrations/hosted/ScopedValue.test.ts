import { describe, expect, it } from "vitest";
import { ScopedValue } from "../../../src/integrations/hosted/ScopedValue.ts";

describe("ScopedValue", () => {
  it("is what the innermost call around the code gave, also within and beside others", async () => {
    const [name, count] = [new ScopedValue<string>(), new ScopedValue<number>()];
    const seen = () => [name.get(), count.get()];
    const within = await name.run("outer", () =>
      count.run(1, async () => {
        await Promise.resolve();
        return [seen(), name.run("inner", seen), seen()];
      }),
    );
    expect(within).toEqual([
      ["outer", 1],
      ["inner", 1],
      ["outer", 1],
    ]);
    expect(seen()).toEqual([undefined, undefined]);
  });

  it("is of its own call, when several run at once", async () => {
    const value = new ScopedValue<number>();
    const seen = await Promise.all(
      [1, 2].map((given) => value.run(given, async () => (await Promise.resolve(), value.get()))),
    );
    expect(seen).toEqual([1, 2]);
  });
});
