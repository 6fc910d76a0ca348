// Signs a person in: the token goes to the server once, which gives a cookie that no script can read.
"use strict";

const byId = (id) => document.getElementById(id);

function next() { // a place on this server, whoever has made the link to this page
  const wanted = new URL(new URLSearchParams(location.search).get("next") || "/docs", location.origin);
  return wanted.origin === location.origin ? wanted.href : "/docs"; // whole: a path may look like another's address
}

async function tell(method, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/sign-in", { method, headers, body }).catch(() => null);
  if (answer && answer.ok) return "";
  const problem = answer ? await answer.json().catch(() => ({})) : {};
  return problem.message || "the server does not answer";
}

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = await tell("POST", JSON.stringify({ token: byId("token").value.trim() }));
  byId("problem").textContent = problem;
  byId("problem").hidden = !problem;
  if (!problem) location.replace(next());
});

byId("sign-out").addEventListener("click", async () => {
  byId("done").textContent = (await tell("DELETE")) || "signed out";
});
