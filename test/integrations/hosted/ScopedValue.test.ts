import { describe, expect, it } from "vitest";
import { ScopedValue } from "../../../src/integrations/hosted/ScopedValue.ts";

describe("ScopedValue", () => {
  it("is the value of the innermost call around the code, even with nested and parallel values", async () => {
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

  it("belongs to its call when several run concurrently", async () => {
    const value = new ScopedValue<number>();
    const seen = await Promise.all(
      [1, 2].map((given) => value.run(given, async () => (await Promise.resolve(), value.get()))),
    );
    expect(seen).toEqual([1, 2]);
  });
});
