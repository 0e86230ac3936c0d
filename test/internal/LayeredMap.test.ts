import fc from "fast-check";
import { expect, it } from "vitest";
import { LayeredMap } from "../../src/internal/LayeredMap.ts";

const change = fc.record({
  kind: fc.constantFrom("set", "delete", "layer", "drop"),
  key: fc.nat(5),
  value: fc.option(fc.nat(9), { nil: undefined }),
});

it("a value is changed in place in its layer, and copied from a lower layer", () => {
  const below = new LayeredMap<string, { at: number }>();
  below.set("a", { at: 1 });
  const copy = (value: { readonly at: number }) => ({ ...value });
  const above = below.layered();
  const copied = above.own("a", copy);
  expect(copied).not.toBe(below.get("a"));
  expect(above.own("a", copy)).toBe(copied);
  expect(above.own("b", copy)).toBeUndefined();
  above.delete("a");
  expect(above.own("a", copy)).toBeUndefined();
  expect([below.own("a", copy), below.size]).toEqual([{ at: 1 }, 1]);
});

it("a layer shows the values below it until it changes them, and leaves them unchanged", () => {
  const check = fc.property(fc.array(change, { maxLength: 80 }), (changes) => {
    const layers = [
      { map: new LayeredMap<number, number | undefined>(), model: new Map<number, number | undefined>() },
    ];
    for (const { kind, key, value } of changes) {
      const top = layers.at(-1);
      if (!top) return;
      if (kind === "layer") layers.push({ map: top.map.layered(), model: new Map(top.model) });
      else if (kind === "drop" && layers.length > 1) layers.pop();
      else if (kind === "set") {
        top.map.set(key, value);
        top.model.set(key, value);
      } else if (kind === "delete") expect(top.map.delete(key)).toBe(top.model.delete(key));
      for (const { map, model } of layers) {
        expect(map.size).toBe(model.size);
        expect(new Map(map.entries())).toEqual(model);
        for (let each = 0; each < 6; each++)
          expect([map.has(each), map.get(each)]).toEqual([model.has(each), model.get(each)]);
      }
    }
  });
  fc.assert(check, { numRuns: 500 });
});
