/** Splits the URL of a PostgreSQL with several hosts, `postgres://user@a:5432,b:5432/db?target_session_attrs=read-write`. */

/** Holt writes, so it accepts no other value, and looks for such a host also without the parameter. */
const TARGETS = ["read-write", "primary"];
const TARGET = "target_session_attrs";

export interface PostgresUrl {
  /** A URL for each host, in their order. The driver knows neither several hosts nor the parameter. */
  readonly hosts: readonly string[];
  /** The problem with the value of `target_session_attrs`: "must be …"; undefined if there is none. */
  readonly problem: string | undefined;
}

/** Checks nothing else: each of the URLs may be invalid. */
export function splitPostgresUrl(text: string): PostgresUrl {
  const [, scheme = "", user = "", names = "", rest = ""] = /^([a-z]+:\/\/)([^/?#]*@)?([^@/?#]*)(.*)$/s.exec(text) ?? [];
  if (scheme === "") return { hosts: [text], problem: undefined };
  const [path = "", ...query] = rest.split("?");
  const parameters = query.join("?").split("&").filter(Boolean);
  const isTarget = (parameter: string) => parameter.startsWith(`${TARGET}=`);
  const kept = parameters.filter((parameter) => !isTarget(parameter)).join("&");
  const tail = kept === "" ? path : `${path}?${kept}`;
  const isKnown = parameters.filter(isTarget).every((parameter) => TARGETS.includes(parameter.slice(TARGET.length + 1)));
  return {
    hosts: names.split(",").map((host) => `${scheme}${user}${host}${tail}`),
    problem: isKnown ? undefined : `${TARGET} must be ${TARGETS.join(" or ")}, because the server writes`,
  };
}
