/** Counts token exchanges by their outcome. */
import { Code, codeName, HoltError } from "../../lib/errors.ts";
import { type Meter, noMeter } from "../../lib/meter.ts";
import type { TokenExchange } from "./exchange-token.ts";

const KINDS = ["exchange", "login", "refresh", "session"] as const;

/** The exchange, with a count of what is decided: a token, or a refusal by its code. */
export function meterExchange(exchange: TokenExchange, meter: Meter): TokenExchange {
  if (meter === noMeter) return exchange;
  const codes = Object.values(Code);
  const decided = meter.counter({
    name: "holt_token_exchanges_total",
    help: "Decisions about access tokens, by the way of asking and their outcome (OK, or the code of the refusal).",
    labels: { kind: new Set(KINDS), outcome: new Set(codes.map(codeName).concat("OK", "ENDED")) },
  });
  async function count<T>(kind: (typeof KINDS)[number], decide: () => Promise<T>): Promise<T> {
    try {
      const result = await decide();
      decided.add(1, kind, result === undefined ? "ENDED" : "OK");
      return result;
    } catch (error) {
      decided.add(1, kind, error instanceof HoltError ? codeName(error.code) : "INTERNAL");
      throw error;
    }
  }
  return {
    prepareExchange: (...parameters) => count("exchange", () => exchange.prepareExchange(...parameters)),
    prepareLogin: (...parameters) => count("login", () => exchange.prepareLogin(...parameters)),
    prepareRefresh: (...parameters) => count("refresh", () => exchange.prepareRefresh(...parameters)),
    prepareSession: (...parameters) => count("session", () => exchange.prepareSession(...parameters)),
    recordExchange: exchange.recordExchange,
  };
}
