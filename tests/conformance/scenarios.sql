-- Attack chains from the table alerts(ts, src, dst, signature, category, severity), apart from the program that they are
-- compared with: steps are sessions with pauses under 15 minutes, an attack is open for an hour, chains have 8 steps at most.
WITH RECURSIVE
  marked AS (
    SELECT *, coalesce(ts - lag(ts) OVER pair >= INTERVAL 15 MINUTE, true) AS opens
    FROM alerts
    WHERE src <> dst
    WINDOW pair AS (PARTITION BY src, dst, signature ORDER BY ts)
  ),
  numbered AS (
    SELECT *, count(*) FILTER (opens) OVER (PARTITION BY src, dst, signature ORDER BY ts RANGE UNBOUNDED PRECEDING) AS session
    FROM marked
  ),
  found AS (
    SELECT src, dst, signature, min(ts) AS began, max(ts) AS ended, min(category) AS category, min(severity) AS severity,
      count(*) AS alerts, CASE min(severity) WHEN 1 THEN 9 WHEN 2 THEN 3 ELSE 1 END AS weight
    FROM numbered
    GROUP BY src, dst, signature, session
  ),
  opening AS (
    SELECT *
    FROM found AS later
    WHERE NOT EXISTS (
      FROM found AS first
      WHERE first.src = later.dst AND first.dst = later.src AND later.began > first.began
        AND later.began <= first.ended + INTERVAL 1 HOUR
    )
  ),
  grown AS (
    SELECT md5(concat_ws('|', '', src, dst, signature, epoch_us(began))) AS id, '' AS before, 1 AS length, weight AS score, severity,
      began AS begun, [src] AS hosts, false AS returns, src, dst, signature, began, ended,
      [{'at': began, 'until': ended, 'attacker': src, 'victim': dst, 'signature': signature, 'category': category,
        'severity': severity, 'count': alerts, 'after': NULL::INTERVAL, 'returns': false}] AS steps
    FROM opening
    UNION ALL
    SELECT * EXCLUDE place
    FROM (
      SELECT *, row_number() OVER (PARTITION BY src, dst, signature, began, returns ORDER BY score DESC, begun DESC, id DESC) AS place
      FROM (
        SELECT md5(concat_ws('|', p.id, s.src, s.dst, s.signature, epoch_us(s.began))) AS id, p.id AS before, p.length + 1 AS length,
          p.score + s.weight AS score, least(p.severity, s.severity) AS severity, p.begun, p.hosts || [s.src] AS hosts,
          list_contains(p.hosts, s.dst) AS returns, s.src, s.dst, s.signature, s.began, s.ended,
          p.steps || [{'at': s.began, 'until': s.ended, 'attacker': s.src, 'victim': s.dst, 'signature': s.signature,
            'category': s.category, 'severity': s.severity, 'count': s.alerts, 'after': s.began - p.began,
            'returns': list_contains(p.hosts, s.dst)}] AS steps
        FROM grown AS p
        JOIN found AS s ON s.src = p.dst AND s.began > p.began AND s.began <= p.ended + INTERVAL 1 HOUR
        WHERE NOT p.returns AND p.length < 8
      )
    )
    WHERE place = 1
  ),
  ended AS (
    SELECT *
    FROM grown
    WHERE length > 1
    QUALIFY row_number() OVER (PARTITION BY src, dst, signature, began ORDER BY score DESC, begun DESC, id DESC) = 1
  )
SELECT id, hosts[1] AS attacker, begun AS begin, ended AS end, length, severity, score,
  count(*) OVER (PARTITION BY hosts) AS alike, hosts || [dst] AS hosts, steps
FROM ended
WHERE id NOT IN (SELECT before FROM ended)
QUALIFY row_number() OVER (PARTITION BY hosts ORDER BY score DESC, begun DESC, id DESC) = 1
ORDER BY score DESC, begun DESC, id DESC
