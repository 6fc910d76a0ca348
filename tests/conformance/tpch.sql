-- pricing
SELECT
    l_returnflag,
    l_linestatus,
    sum(l_quantity) AS quantity,
    sum(l_extendedprice) AS listed,
    sum(l_extendedprice * (1 - l_discount)) AS discounted,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charged,
    CAST(avg(l_quantity) AS DECIMAL(18, 4)) AS mean_quantity,
    CAST(avg(l_extendedprice) AS DECIMAL(18, 4)) AS mean_price,
    CAST(avg(l_discount) AS DECIMAL(18, 4)) AS mean_discount,
    count(*) AS lines
FROM lineitem
WHERE l_shipdate <= DATE '1998-09-02'
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus;

-- cheapest_supplier
WITH offers AS (
    SELECT *
    FROM part
    JOIN partsupp ON p_partkey = ps_partkey
    JOIN supplier ON ps_suppkey = s_suppkey
    JOIN nation ON s_nationkey = n_nationkey
    JOIN region ON n_regionkey = r_regionkey
    WHERE p_size = 15 AND p_type LIKE '%BRASS' AND r_name = 'EUROPE'
)
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM offers
WHERE ps_supplycost = (SELECT min(ps_supplycost) FROM offers AS o WHERE o.p_partkey = offers.p_partkey)
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100;

-- unshipped_orders
SELECT l_orderkey, o_orderdate, o_shippriority, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer
JOIN orders ON c_custkey = o_custkey
JOIN lineitem ON o_orderkey = l_orderkey
WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate, l_orderkey
LIMIT 10;

-- late_orders
SELECT o_orderpriority, count(*) AS orders
FROM orders
WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
    AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority
ORDER BY o_orderpriority;

-- local_revenue
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM region
JOIN nation ON r_regionkey = n_regionkey
JOIN customer ON n_nationkey = c_nationkey
JOIN orders ON c_custkey = o_custkey
JOIN lineitem ON o_orderkey = l_orderkey
JOIN supplier ON l_suppkey = s_suppkey AND s_nationkey = n_nationkey
WHERE r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
GROUP BY n_name
ORDER BY revenue DESC;

-- lost_discounts
SELECT sum(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
    AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;

-- trade_between
SELECT
    seller.n_name AS seller,
    buyer.n_name AS buyer,
    year(l_shipdate) AS year,
    sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
JOIN supplier ON l_suppkey = s_suppkey
JOIN nation AS seller ON s_nationkey = seller.n_nationkey
JOIN orders ON l_orderkey = o_orderkey
JOIN customer ON o_custkey = c_custkey
JOIN nation AS buyer ON c_nationkey = buyer.n_nationkey
WHERE l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
    AND (seller.n_name = 'FRANCE' AND buyer.n_name = 'GERMANY'
        OR seller.n_name = 'GERMANY' AND buyer.n_name = 'FRANCE')
GROUP BY seller.n_name, buyer.n_name, year(l_shipdate)
ORDER BY seller, buyer, year;

-- market_share
SELECT
    year(o_orderdate) AS year,
    CAST(
        coalesce(sum(l_extendedprice * (1 - l_discount)) FILTER (seller.n_name = 'BRAZIL'), 0)
        / sum(l_extendedprice * (1 - l_discount)) AS DECIMAL(18, 4)
    ) AS share
FROM part
JOIN lineitem ON p_partkey = l_partkey
JOIN supplier ON l_suppkey = s_suppkey
JOIN nation AS seller ON s_nationkey = seller.n_nationkey
JOIN orders ON l_orderkey = o_orderkey
JOIN customer ON o_custkey = c_custkey
JOIN nation AS buyer ON c_nationkey = buyer.n_nationkey
JOIN region ON buyer.n_regionkey = r_regionkey
WHERE p_type = 'ECONOMY ANODIZED STEEL' AND r_name = 'AMERICA'
    AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
GROUP BY year(o_orderdate)
ORDER BY year;

-- profit
SELECT
    n_name,
    year(o_orderdate) AS year,
    sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity) AS profit
FROM part
JOIN lineitem ON p_partkey = l_partkey
JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
JOIN supplier ON l_suppkey = s_suppkey
JOIN nation ON s_nationkey = n_nationkey
JOIN orders ON l_orderkey = o_orderkey
WHERE p_name LIKE '%green%'
GROUP BY n_name, year(o_orderdate)
ORDER BY n_name, year DESC;

-- returns
SELECT
    c_custkey,
    c_name,
    sum(l_extendedprice * (1 - l_discount)) AS revenue,
    c_acctbal,
    n_name,
    c_address,
    c_phone,
    c_comment
FROM customer
JOIN orders ON c_custkey = o_custkey
JOIN lineitem ON o_orderkey = l_orderkey
JOIN nation ON c_nationkey = n_nationkey
WHERE o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R'
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC, c_custkey
LIMIT 20;

-- important_stock
WITH stock AS (
    SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value
    FROM partsupp
    JOIN supplier ON ps_suppkey = s_suppkey
    JOIN nation ON s_nationkey = n_nationkey
    WHERE n_name = 'GERMANY'
    GROUP BY ps_partkey
)
SELECT ps_partkey, value
FROM stock
WHERE value > (SELECT sum(0.001 * value) FROM stock)
ORDER BY value DESC, ps_partkey;

-- shipping_modes
SELECT
    l_shipmode,
    count(*) FILTER (o_orderpriority IN ('1-URGENT', '2-HIGH')) AS urgent,
    count(*) FILTER (o_orderpriority NOT IN ('1-URGENT', '2-HIGH')) AS other
FROM orders
JOIN lineitem ON o_orderkey = l_orderkey
WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_shipdate < l_commitdate AND l_commitdate < l_receiptdate
    AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
GROUP BY l_shipmode
ORDER BY l_shipmode;

-- orders_of_customers
WITH counts AS (
    SELECT c_custkey, count(o_orderkey) AS orders
    FROM customer
    LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
    GROUP BY c_custkey
)
SELECT orders, count(*) AS customers
FROM counts
GROUP BY orders
ORDER BY customers DESC, orders DESC;

-- promotions
SELECT
    100 * CAST(
        coalesce(sum(l_extendedprice * (1 - l_discount)) FILTER (p_type LIKE 'PROMO%'), 0)
        / sum(l_extendedprice * (1 - l_discount)) AS DECIMAL(18, 4)
    ) AS percent
FROM lineitem
JOIN part ON l_partkey = p_partkey
WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01';

-- best_supplier
WITH revenues AS (
    SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) AS revenue
    FROM lineitem
    WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01'
    GROUP BY l_suppkey
)
SELECT s_suppkey, s_name, s_address, s_phone, revenue
FROM supplier
JOIN revenues ON s_suppkey = l_suppkey
WHERE revenue = (SELECT max(revenue) FROM revenues)
ORDER BY s_suppkey;

-- suppliers_of_parts
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS suppliers
FROM part
JOIN partsupp ON p_partkey = ps_partkey
WHERE p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (3, 9, 14, 19, 23, 36, 45, 49)
    AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size
ORDER BY suppliers DESC, p_brand, p_type, p_size;

-- small_orders
WITH lines AS (
    SELECT *
    FROM lineitem
    JOIN part ON l_partkey = p_partkey
    WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX'
)
SELECT CAST(sum(l_extendedprice) / 7 AS DECIMAL(18, 4)) AS yearly
FROM lines
WHERE l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lines AS l WHERE l.p_partkey = lines.p_partkey);

-- large_orders
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
FROM customer
JOIN orders ON c_custkey = o_custkey
JOIN lineitem ON o_orderkey = l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
HAVING sum(l_quantity) > 300
ORDER BY o_totalprice DESC, o_orderdate, o_orderkey
LIMIT 100;

-- discounted_parts
SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
JOIN part ON l_partkey = p_partkey
WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
    AND (
        p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
        AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5
        OR p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
        AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 10
        OR p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
        AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 15
    );

-- excess_stock
WITH sold AS (
    SELECT l_partkey, l_suppkey, sum(l_quantity) AS quantity
    FROM lineitem
    WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
    GROUP BY l_partkey, l_suppkey
)
SELECT s_name, s_address
FROM supplier
JOIN nation ON s_nationkey = n_nationkey
WHERE n_name = 'CANADA'
    AND s_suppkey IN (
        SELECT ps_suppkey
        FROM partsupp
        JOIN sold ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
        WHERE ps_availqty > 0.5 * quantity
            AND ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
    )
ORDER BY s_name;

-- waiting_suppliers
WITH late AS (SELECT * FROM lineitem WHERE l_receiptdate > l_commitdate)
SELECT s_name, count(*) AS orders
FROM late
JOIN supplier ON l_suppkey = s_suppkey
JOIN nation ON s_nationkey = n_nationkey
JOIN orders ON l_orderkey = o_orderkey
WHERE o_orderstatus = 'F' AND n_name = 'SAUDI ARABIA'
    AND EXISTS (
        SELECT 1 FROM lineitem AS l WHERE l.l_orderkey = late.l_orderkey AND l.l_suppkey <> late.l_suppkey
    )
    AND NOT EXISTS (
        SELECT 1 FROM late AS l WHERE l.l_orderkey = late.l_orderkey AND l.l_suppkey <> late.l_suppkey
    )
GROUP BY s_name
ORDER BY orders DESC, s_name
LIMIT 100;

-- idle_customers
WITH asked AS (
    SELECT *, substr(c_phone, 1, 2) AS country
    FROM customer
    WHERE substr(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
)
SELECT country, count(*) AS customers, sum(c_acctbal) AS balance
FROM asked
WHERE c_acctbal > (SELECT avg(c_acctbal) FROM asked WHERE c_acctbal > 0)
    AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)
GROUP BY country
ORDER BY country;
