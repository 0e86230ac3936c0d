import { describe, expect, it } from "vitest";
import { explore, variants } from "./slotClaims.model.ts";
import { soak } from "../../../soak/cases.ts";

describe("the model of claims in slots", () => {
  it("keeps every acknowledged append and acknowledges no append past the end that a newer owner saw", () => {
    const { states, violation } = explore("as designed");
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(60_000);
  });

  it.each(soak ? variants.slice(1) : variants.slice(1, 2))("finds a violation when %s", (variant) => {
    expect(explore(variant).violation).toMatch(/acknowledged/);
  });
});
